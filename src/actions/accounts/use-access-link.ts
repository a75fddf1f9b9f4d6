// Uses an access link up: adds its person, or replaces a password.
import { v7 as newPersonId } from 'uuid'
import { AppError } from '../../core/app-error.ts'
import type { AccessLink } from '../../core/accounts/access-link.ts'
import { PEOPLE_MAX } from '../../core/accounts/person.ts'
import { removeSetupLinks, takeAccessLink } from '../../store/accounts/access-links.ts'
import {
  addPerson,
  countPeople,
  findPersonByEmail,
  lockPeople,
  savePassword,
  type StoredPerson,
} from '../../store/accounts/people.ts'
import { saveGrant } from '../../store/accounts/person-roles.ts'
import { removeSessionsOf } from '../../store/accounts/sessions.ts'
import type { Store } from '../../store/store.ts'

export interface LinkUse {
  /** The hash of the token. */
  readonly hash: string
  readonly link: AccessLink
  readonly email?: string | undefined
  readonly name?: string | undefined
  /** The hash of the new password. */
  readonly password: string
  readonly now: number
}

/** The person; `gone` if the link does not work any more, `taken` if the address has an account already. */
export async function useAccessLink(store: Store, use: LinkUse): Promise<StoredPerson | 'gone' | 'taken'> {
  const { hash, link, password, now } = use
  await lockPeople(store)
  if (!(await takeAccessLink(store, hash))) return 'gone'
  const email = link.email ?? use.email ?? ''
  const present = await findPersonByEmail(store, email)
  if (link.kind === 'reset') {
    if (!present) return 'gone'
    await savePassword(store, present.number, password, now)
    await removeSessionsOf(store, present.number)
    return present
  }
  if (link.kind === 'setup') {
    if ((await countPeople(store)) > 0) return 'gone'
    await removeSetupLinks(store)
  }
  if (present) return 'taken'
  if ((await countPeople(store)) >= PEOPLE_MAX)
    throw new AppError('conflict', `A server has at most ${PEOPLE_MAX} people.`)
  const person = { id: newPersonId(), email, name: use.name ?? email, password, createdAt: now }
  const added = await addPerson(store, person)
  // Only this role: who was given the link need not be whom the owner of another workspace invited at the same address.
  const { workspaceId, role } = link
  if (workspaceId !== null && role !== null) await saveGrant(store, added.number, { workspaceId, role })
  return added
}
