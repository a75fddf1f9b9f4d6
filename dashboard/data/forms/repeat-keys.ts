// Keys for the header Idempotency-Key: the same as long as what is sent is the same, so that a second try after a broken connection
// creates nothing twice.
import { useRef } from 'preact/hooks'

export function useRepeatKey(): (body: unknown) => string {
  const last = useRef<{ readonly text: string; readonly key: string } | undefined>(undefined)
  return (body) => {
    const text = JSON.stringify(body)
    if (last.current?.text !== text) last.current = { text, key: newRepeatKey() }
    return last.current.key
  }
}

/** Browsers have `randomUUID` only over https and on loopback addresses. */
export function newRepeatKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
