// A small «?» beside a number or a title: what it counts.
import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { shownText } from '../../texts/shown.ts'
import { placePopover } from '../controls/popover.ts'

interface ExplainProps {
  /** The number, as its label names it. */
  readonly what: string
  /** Drawn when somebody opens it: a report has dozens. */
  readonly children: ComponentChildren
}

export function Explain({ what, children }: ExplainProps) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const text = useRef<HTMLDivElement>(null)
  const [isOpen, setOpen] = useState(false)
  const draw = ({ newState }: { readonly newState: string }) => setOpen(newState === 'open')
  const place = ({ newState }: { readonly newState: string }) => {
    if (newState === 'open') placePopover(text.current, button.current)
  }
  return (
    <span class="explain">
      <button ref={button} type="button" popovertarget={id} aria-label={shownText.explain(what)}>
        ?
      </button>
      <div class="explanation" id={id} ref={text} popover="auto" role="note" onBeforeToggle={draw} onToggle={place}>
        {isOpen && <strong>{what}</strong>}
        {isOpen && children}
      </div>
    </span>
  )
}
