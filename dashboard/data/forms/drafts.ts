// What somebody has typed and not saved yet. It stays in the tab through a reload, a restart of the server and going back, until it is
// saved or thrown away.
import { useEffect, useRef, useState } from 'preact/hooks'
import { parseJsonText } from '../../../src/core/json/parse-json.ts'

export interface FormDraft<Value> {
  readonly value: Value
  /** What is typed by now; `value` is what was typed when the form was drawn, and what a request sends. */
  readonly latest: () => Value
  readonly change: (value: Value) => void
  /** Whether it differs from what is saved. */
  readonly isChanged: boolean
  /** The server has saved `sent` as `saved`. What was typed while it did stays typed. */
  readonly settle: (sent: Value, saved: Value) => void
  /** To throw it away: what is saved counts again. */
  readonly forget: () => void
}

/** `key`: tells this form from all others, such as the address of what it edits. `saved`: what the server has, or an empty form. */
export function useDraft<Value extends object>(key: string, saved: Value): FormDraft<Value> {
  // Of the form's own page: what is written after it has led elsewhere must not count for the next one.
  const [path] = useState(location.pathname)
  const name = nameOf(path, key)
  const [kept, keep] = useState(() => read(name) as Value | undefined)
  const value = kept ?? saved
  const latest = useRef(value)
  latest.current = value
  const isChanged = kept !== undefined && JSON.stringify(kept) !== JSON.stringify(saved)
  useEffect(() => {
    if (!isChanged) inStorage((storage) => storage.removeItem(name))
  }, [name, kept, isChanged])
  useEffect(() => (isChanged ? askBeforeLeaving() : undefined), [isChanged])
  const forget = () => {
    // At once: a page that goes elsewhere now is not drawn again.
    inStorage((storage) => storage.removeItem(name))
    keep(undefined)
  }
  const change = (typed: Value) => {
    latest.current = typed
    // At once: the page may be loaded again before it is drawn again.
    inStorage((storage) => storage.setItem(name, JSON.stringify(typed)))
    keep(typed)
  }
  const settle = (sent: Value, stored: Value) => {
    const more = typedSince(sent, latest.current)
    if (more) change({ ...stored, ...more })
    else forget()
  }
  return { value, latest: () => latest.current, change, isChanged, settle, forget }
}

/** The members that were typed while `sent` was on its way; undefined if none was. */
export function typedSince<Value extends object>(sent: Value, typed: Value): Partial<Value> | undefined {
  const before = sent as Readonly<Record<string, unknown>>
  const more = Object.entries(typed).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]))
  return more.length === 0 ? undefined : (Object.fromEntries(more) as Partial<Value>)
}

/** Keeps what is typed for a form of another page, which begins with it. */
export function keepDraft(path: string, key: string, value: object): void {
  inStorage((storage) => storage.setItem(nameOf(path, key), JSON.stringify(value)))
}

/** Throws away what was typed into a form of another page. */
export function forgetDraft(path: string, key: string): void {
  inStorage((storage) => storage.removeItem(nameOf(path, key)))
}

function read(name: string): unknown {
  const text = inStorage((storage) => storage.getItem(name))
  return text === null || text === undefined ? undefined : parseJsonText(text)
}

/** Browsers may forbid the storage, and it may be full. Then drafts last as long as the page does. */
function inStorage<Answer>(use: (storage: Storage) => Answer): Answer | undefined {
  try {
    return use(sessionStorage)
  } catch {
    return undefined
  }
}

function nameOf(path: string, key: string): string {
  return `draft ${path} ${key}`
}

const QUESTION = 'You have changes that are not saved. Leave this page? They stay in this tab.'

/** Asks when the page is closed, and when a link leads away. */
function askBeforeLeaving(): () => void {
  // A link that leads out of the dashboard ends the page: for that one end, the question has had its answer.
  let isAnswered = false
  const onUnload = (event: BeforeUnloadEvent) => {
    if (!isAnswered) event.preventDefault()
    isAnswered = false
  }
  const onClick = (event: MouseEvent) => {
    isAnswered = false
    const link = (event.target as Element).closest('a[href]')
    const isAway = link && isElsewhere(link.getAttribute('href') ?? '') && link.getAttribute('target') !== '_blank'
    if (!isAway || event.ctrlKey || event.metaKey || event.shiftKey) return
    isAnswered = globalThis.confirm(QUESTION)
    if (isAnswered) return
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
