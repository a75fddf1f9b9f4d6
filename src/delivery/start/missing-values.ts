// Counts the people for whom a variable of their template has no value: they would be removed, or read an empty place.
import { shownAttributes } from '../../actions/email-protection.ts'
import type { Candidate, Placed } from '../run/place-people.ts'
import type { Workspace } from '../../core/workspace.ts'
import type { Store } from '../../store/store.ts'
import type { EmailVault } from '../../store/users/email-vault.ts'
import { findUsers } from '../../store/users/users.ts'
import type { TemplateReader } from './template-reader.ts'

export interface MissingValuesOptions {
  readonly workspace: Workspace
  readonly emailVault: EmailVault | undefined
  readonly templates: TemplateReader
  /** The most people to look at. */
  readonly max: number
}

/** Users that are read at once, because each may have a megabyte. */
const USERS_AT_ONCE = 50

export class MissingValues {
  /** Variable → people. */
  readonly counts = new Map<string, number>()
  people = 0
  readonly #store: Store
  readonly #options: MissingValuesOptions

  constructor(store: Store, options: MissingValuesOptions) {
    this.#store = store
    this.#options = options
  }

  /** Looks at the first people who would be sent to. */
  async add(people: readonly Candidate[], places: readonly Placed[]): Promise<void> {
    const targets = people.flatMap(({ userId }, index) => {
      const place = places[index]
      return place?.group === 'target' && place.removed === undefined ? [{ userId, template: place.template }] : []
    })
    const wanted = targets.slice(0, this.#options.max - this.people)
    for (let index = 0; index < wanted.length; index += USERS_AT_ONCE) {
      await this.#look(wanted.slice(index, index + USERS_AT_ONCE))
    }
  }

  async #look(wanted: readonly { readonly userId: number; readonly template: Placed['template'] }[]): Promise<void> {
    const { workspace, emailVault, templates } = this.#options
    const users = await findUsers(
      this.#store,
      wanted.map(({ userId }) => userId),
    )
    const byId = new Map(users.map((user) => [user.id, user]))
    for (const { userId, template } of wanted) {
      const user = byId.get(userId)
      if (!user) continue
      this.people++
      const attributes = shownAttributes(workspace, user, emailVault)
      for (const variable of (await templates.read(template)).variables) {
        if (hasValue(attributes, variable)) continue
        this.counts.set(variable, (this.counts.get(variable) ?? 0) + 1)
      }
    }
  }
}

/** `variable`: as a template names it, such as `first_name`, `user["First Name"]` or `address.city`. */
function hasValue(attributes: Readonly<Record<string, unknown>>, variable: string): boolean {
  const names = [...variable.matchAll(/\["(.*?)"\]|\['(.*?)'\]|([^.[\]]+)/g)].map(
    ([, one, other, plain]) => one ?? other ?? plain ?? '',
  )
  const path = names[0] === 'user' ? names.slice(1) : names
  let value: unknown = attributes
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return false
    value = (value as Readonly<Record<string, unknown>>)[name]
  }
  return value !== null && value !== undefined && value !== ''
}
