// A small «?» beside a number or a title: what it counts.
import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'
import { shownText } from '../../texts/shown.ts'
import { placePopover } from '../controls/popover.ts'

interface ExplainProps {
  /** The number, as its label names it. */
  readonly what: string
  readonly children: ComponentChildren
}

export function Explain({ what, children }: ExplainProps) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const text = useRef<HTMLDivElement>(null)
  const place = ({ newState }: { readonly newState: string }) => {
    if (newState === 'open') placePopover(text.current, button.current)
  }
  return (
    <span class="explain">
      <button ref={button} type="button" popovertarget={id} aria-label={shownText.explain(what)}>
        ?
      </button>
      <div class="explanation" id={id} ref={text} popover="auto" role="note" onToggle={place}>
        <strong>{what}</strong>
        {children}
      </div>
    </span>
  )
}
