// Short lines that say what has been done, and go away by themselves.
import { useEffect, useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

const SHOWN_MS = 5_000
/** The event of the document that carries a line. */
const EVENT = 'tidings-toast'

interface Toast {
  readonly id: string
  readonly text: string
}

/** Says what has been done: «Segment saved». */
export function toast(text: string): void {
  document.dispatchEvent(
    new CustomEvent<Toast>(EVENT, { detail: { id: crypto.getRandomValues(new Uint32Array(1)).join(), text } }),
  )
}

export function Toasts() {
  const [shown, setShown] = useState<readonly Toast[]>([])
  useEffect(() => {
    const onToast = (event: Event) => {
      const made = (event as CustomEvent<Toast>).detail
      setShown((before) => [...before, made])
      setTimeout(() => setShown((before) => before.filter(({ id }) => id !== made.id)), SHOWN_MS)
    }
    document.addEventListener(EVENT, onToast)
    return () => document.removeEventListener(EVENT, onToast)
  }, [])
  return (
    <div class="toasts" role="status">
      {shown.map(({ id, text }) => (
        <p class="toast" key={id}>
          <Icon name="check" />
          {text}
        </p>
      ))}
    </div>
  )
}
