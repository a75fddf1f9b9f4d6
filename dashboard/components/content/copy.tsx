// A text to take along: a button copies it.
import { useState } from 'preact/hooks'
import { shownText } from '../../texts/shown.ts'
import { Button } from '../controls/button.tsx'

const SHOWN_MS = 2_000

/** `text`: what is copied. `what`: names it for readers of the screen. */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await copyText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), SHOWN_MS)
  }
  return (
    <>
      <Button
        kind="quiet"
        icon={isCopied ? 'check' : 'copy'}
        label={`${isCopied ? shownText.copied : shownText.copy}: ${what}`}
        onClick={() => void copy()}
      />
      <span class="visually-hidden" role="status">
        {isCopied ? shownText.copied : ''}
      </span>
    </>
  )
}

/** Browsers have the clipboard only over https and on loopback addresses. */
async function copyText(text: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

export function Copied({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <span class="copied">
      <code>{text}</code>
      <CopyButton text={text} what={what} />
    </span>
  )
}

export function CodeBlock({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <div class="row">
      <pre class="code-block">{text}</pre>
      <CopyButton text={text} what={what} />
    </div>
  )
}
