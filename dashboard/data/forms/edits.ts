// What somebody changes of something that is stored, while others may change it too. Only the changed members are kept: all others show
// what is stored, also after somebody else has changed it.
import { useDraft } from './drafts.ts'

/** Tells one state of what is stored from another: `revision` or `updated_at`. */
type Version = string | number

interface Kept<Values> {
  /** The version that the changes were made to. */
  readonly seen: Version
  readonly changes: Partial<Values>
}

export interface Edit<Values> {
  /** What is stored, with the changes. */
  readonly values: Values
  readonly stored: Values
  readonly changes: Partial<Values>
  readonly isChanged: boolean
  readonly change: (changes: Partial<Values>) => void
  /** Send it along: the server refuses changes to another version. */
  readonly seen: Version
  /** What I have changed, if somebody else has saved another version meanwhile. */
  readonly conflicts: readonly (keyof Values & string)[]
  /** The changes count for the version that is stored now. */
  readonly keepMine: () => void
  /** After saving, or to throw the changes away. */
  readonly forget: () => void
}

/** `key`: tells it from other forms of the page. Secrets do not belong here: the changes are kept in the tab. */
export function useEdit<Values extends object>(key: string, stored: Values, version: Version): Edit<Values> {
  const draft = useDraft<Kept<Values>>(key, { seen: version, changes: {} })
  const { seen, changes } = draft.value
  const names = (Object.keys(changes) as (keyof Values & string)[]).filter((name) =>
    isOther(changes[name], stored[name]),
  )
  const isChanged = names.length > 0
  return {
    values: { ...stored, ...changes },
    stored,
    changes: Object.fromEntries(names.map((name) => [name, changes[name]])) as Partial<Values>,
    isChanged,
    seen: isChanged ? seen : version,
    conflicts: isChanged && seen !== version ? names : [],
    change(more) {
      const all = { ...changes, ...more }
      const different = Object.entries(all).filter(([name, value]) => isOther(value, stored[name as keyof Values]))
      if (different.length === 0) draft.forget()
      else draft.change({ seen: isChanged ? seen : version, changes: Object.fromEntries(different) as Partial<Values> })
    },
    keepMine: () => draft.change({ seen: version, changes }),
    forget: draft.forget,
  }
}

function isOther(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) !== JSON.stringify(other)
}
