// What somebody changes of something that is stored, while others may change it too. Only the changed members are kept: all others show
// what is stored, also after somebody else has changed it.
import { typedSince, useDraft } from './drafts.ts'

/** Tells one state of what is stored from another: `revision` or `updated_at`. */
type Version = string | number

interface Kept<Values> {
  readonly changes: Partial<Values>
  /** What was stored of these members when they were changed. */
  readonly before: Partial<Values>
}

export interface Edit<Values> {
  /** What is stored, with the changes. */
  readonly values: Values
  readonly stored: Values
  readonly changes: Partial<Values>
  readonly isChanged: boolean
  readonly change: (changes: Partial<Values>) => void
  /** The version that `conflicts` knows of. Send it along: the server refuses changes to another one. */
  readonly seen: Version
  /** What I have changed, and somebody else too. */
  readonly conflicts: readonly (keyof Values & string)[]
  /** The changes count for the version that is stored now. */
  readonly keepMine: () => void
  /** The server has saved `sent`. What was typed while it did stays typed. */
  readonly settle: (sent: Partial<Values>) => void
  /** To throw the changes away. */
  readonly forget: () => void
}

/** `key`: tells it from other forms of the page. Secrets do not belong here: the changes are kept in the tab. */
export function useEdit<Values extends object>(key: string, stored: Values, version: Version): Edit<Values> {
  const draft = useDraft<Kept<Values>>(key, { changes: {}, before: {} })
  const { changes, before } = draft.value
  const names = namesOf(changes).filter((name) => isOther(changes[name], stored[name]))
  const keep = (all: Partial<Values>, beforeOf: (name: keyof Values & string) => unknown) => {
    const different = namesOf(all).filter((name) => isOther(all[name], stored[name]))
    if (different.length === 0) draft.forget()
    else draft.change({ changes: pick(different, (name) => all[name]), before: pick(different, beforeOf) })
  }
  const settle = (sent: Partial<Values>) => {
    const saved = { ...stored, ...sent }
    const more = typedSince(saved, { ...stored, ...draft.latest().changes })
    if (more) draft.change({ changes: more, before: pick(namesOf(more), (name) => saved[name]) })
    else draft.forget()
  }
  return {
    values: { ...stored, ...changes },
    stored,
    changes: pick(names, (name) => changes[name]),
    isChanged: names.length > 0,
    seen: version,
    conflicts: names.filter((name) => isOther(before[name], stored[name])),
    change: (more) => keep({ ...changes, ...more }, (name) => (names.includes(name) ? before[name] : stored[name])),
    keepMine: () => keep(changes, (name) => stored[name]),
    settle,
    forget: draft.forget,
  }
}

function namesOf<Values extends object>(some: Partial<Values>): (keyof Values & string)[] {
  return Object.keys(some) as (keyof Values & string)[]
}

function pick<Values>(
  names: readonly (keyof Values & string)[],
  valueOf: (name: keyof Values & string) => unknown,
): Partial<Values> {
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Partial<Values>
}

function isOther(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) !== JSON.stringify(other)
}
