// What somebody has typed and not saved yet. It stays in the tab through a reload, a restart of the server and going back, until it is
// saved or thrown away.
import { useEffect, useState } from 'preact/hooks'

export interface FormDraft<Value> {
  readonly value: Value
  readonly change: (value: Value) => void
  /** Whether it differs from what is saved. */
  readonly isChanged: boolean
  /** After saving, or to throw it away: what is saved counts again. */
  readonly forget: () => void
}

/** `key`: tells this form from all others, such as the address of what it edits. `saved`: what the server has, or an empty form. */
export function useDraft<Value>(key: string, saved: Value): FormDraft<Value> {
  const [kept, keep] = useState(() => read(key) as Value | undefined)
  const value = kept ?? saved
  const isChanged = kept !== undefined && JSON.stringify(kept) !== JSON.stringify(saved)
  useEffect(() => {
    const text = isChanged ? JSON.stringify(kept) : undefined
    inStorage((storage) => write(storage, key, text))
  }, [key, kept, isChanged])
  useEffect(() => (isChanged ? askBeforeLeaving() : undefined), [isChanged])
  const forget = () => {
    // At once: a page that goes elsewhere now is not drawn again.
    inStorage((storage) => write(storage, key, undefined))
    keep(undefined)
  }
  return { value, change: keep, isChanged, forget }
}

function read(key: string): unknown {
  const text = inStorage((storage) => storage.getItem(nameOf(key)))
  return text === null || text === undefined ? undefined : JSON.parse(text)
}

function write(storage: Storage, key: string, text: string | undefined): void {
  if (text === undefined) storage.removeItem(nameOf(key))
  else storage.setItem(nameOf(key), text)
}

/** Browsers may forbid the storage, and it may be full. Then drafts last as long as the page does. */
function inStorage<Answer>(use: (storage: Storage) => Answer): Answer | undefined {
  try {
    return use(sessionStorage)
  } catch {
    return undefined
  }
}

function nameOf(key: string): string {
  return `draft ${location.pathname} ${key}`
}

const QUESTION = 'You have changes that are not saved. Leave this page? They stay in this tab.'

/** Asks when the page is closed, and when a link leads away. */
function askBeforeLeaving(): () => void {
  const onUnload = (event: BeforeUnloadEvent) => event.preventDefault()
  const onClick = (event: MouseEvent) => {
    const link = (event.target as Element).closest('a[href]')
    const isAway = link && isElsewhere(link.getAttribute('href') ?? '') && link.getAttribute('target') !== '_blank'
    if (!isAway || event.ctrlKey || event.metaKey || event.shiftKey || globalThis.confirm(QUESTION)) return
    event.preventDefault()
    event.stopPropagation()
  }
  addEventListener('beforeunload', onUnload)
  document.addEventListener('click', onClick, true)
  return () => {
    removeEventListener('beforeunload', onUnload)
    document.removeEventListener('click', onClick, true)
  }
}

/** Another tab or step of the same page keeps what is typed. */
function isElsewhere(href: string): boolean {
  return new URL(href, location.href).pathname !== location.pathname
}
