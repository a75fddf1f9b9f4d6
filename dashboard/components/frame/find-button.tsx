// Opens Find: a button, and Ctrl K everywhere. Its script is loaded when it is first opened.
import type { FunctionComponent, VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { frameText } from '../../texts/frame.ts'
import { Icon } from '../content/icon.tsx'
import { toast } from '../content/toasts.tsx'

type FindDialog = FunctionComponent<{ readonly onClose: () => void }>

export interface Finding {
  readonly open: () => void
  /** Null while it is closed. */
  readonly dialog: VNode | null
}

export function useFinding(): Finding {
  const [isOpen, setOpen] = useState(false)
  const [Dialog, setDialog] = useState<FindDialog | undefined>(undefined)
  const open = () => {
    setOpen(true)
    import('./find.tsx').then(
      ({ default: loaded }) => setDialog(() => loaded),
      () => toast(frameText.findNotLoaded),
    )
  }
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
      event.preventDefault()
      // A dialog that asks something stays in front.
      if (document.querySelector('dialog[open]') === null) open()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return { open, dialog: isOpen && Dialog ? <Dialog onClose={() => setOpen(false)} /> : null }
}

export function FindButton({ open }: Pick<Finding, 'open'>) {
  return (
    <button type="button" class="button find-button" aria-keyshortcuts="Control+K" onClick={open}>
      <Icon name="search" />
      {frameText.find}
      <kbd>{/Mac|iP/.test(navigator.platform) ? '⌘ K' : 'Ctrl K'}</kbd>
    </button>
  )
}
