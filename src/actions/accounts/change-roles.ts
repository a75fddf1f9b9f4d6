// Gives people roles and takes them away. A workspace always keeps an owner, or nobody could manage it any more.
import { AppError } from '../../core/app-error.ts'
import { EVERY_WORKSPACE, roleIn, type RoleGrant } from '../../core/accounts/person.ts'
import { listGrants, listGrantsIn, removeGrant, saveGrant } from '../../store/accounts/person-roles.ts'
import { removeAccessLinks } from '../../store/accounts/access-links.ts'
import { deletePerson, type StoredPerson } from '../../store/accounts/people.ts'
import { removeSessionsOf } from '../../store/accounts/sessions.ts'
import type { Store } from '../../store/store.ts'

type Member = Pick<StoredPerson, 'number' | 'email'>

/**
 * Gives a person a role, in place of the one for the same workspace. Call it under `lockPeople`. Throws AppError `conflict` if the
 * workspace would lose its last owner.
 */
export async function giveRole(store: Store, person: Member, grant: RoleGrant): Promise<void> {
  await keepingOwner(store, grant.workspaceId, () => saveGrant(store, person.number, grant))
  await withdrawReset(store, person)
}

/**
 * Takes the role for a workspace away, and removes a person who has no other. Call it under `lockPeople`. Throws AppError `conflict` as
 * `giveRole` does.
 */
export async function takeRole(store: Store, person: Member, workspaceId: string): Promise<void> {
  await keepingOwner(store, workspaceId, () => removeGrant(store, person.number, workspaceId))
  if ((await listGrants(store, person.number)).length === 0) await removeAccount(store, person)
}

/**
 * Takes all roles away, and removes the person, who may have had none. Call it under `lockPeople`. Throws AppError `conflict` as
 * `giveRole` does.
 */
export async function takeAllRoles(store: Store, person: Member): Promise<void> {
  for (const { workspaceId } of await listGrants(store, person.number)) {
    await keepingOwner(store, workspaceId, () => removeGrant(store, person.number, workspaceId))
  }
  await removeAccount(store, person)
}

/** In this order, a sign-in at the same moment leaves no session: it locks the person first (`lockPassword`). */
async function removeAccount(store: Store, person: Member): Promise<void> {
  await deletePerson(store, person.number)
  await removeSessionsOf(store, person.number)
  await withdrawReset(store, person)
}

/** An owner may have made the link who does not own the workspace in which the person has a role now. */
async function withdrawReset(store: Store, { email }: Member): Promise<void> {
  await removeAccessLinks(store, { kind: 'reset', email, workspaceId: null })
}

async function keepingOwner(store: Store, workspaceId: string, change: () => Promise<void>): Promise<void> {
  const wasOwned = await hasOwner(store, workspaceId)
  await change()
  if (!wasOwned || (await hasOwner(store, workspaceId))) return
  const where = workspaceId === EVERY_WORKSPACE ? 'The server' : 'A workspace'
  throw new AppError('conflict', `${where} must keep an owner. Make someone else an owner first.`)
}

async function hasOwner(store: Store, workspaceId: string): Promise<boolean> {
  const grantsOf = Map.groupBy(await listGrantsIn(store, workspaceId), ({ person }) => person)
  return [...grantsOf.values()].some((own) => roleIn(own, workspaceId) === 'owner')
}
