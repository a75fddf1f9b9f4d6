// People with a role, and people who are signed in, for tests of what people may do.
import { randomUUID } from 'node:crypto'
import { PasswordHashes } from '../../../src/actions/accounts/password-hash.ts'
import { openSession } from '../../../src/actions/accounts/open-session.ts'
import { EVERY_WORKSPACE } from '../../../src/core/accounts/person.ts'
import type { Role } from '../../../src/core/accounts/role.ts'
import { addPerson, lockPeople } from '../../../src/store/accounts/people.ts'
import { saveGrant } from '../../../src/store/accounts/person-roles.ts'
import { removeSession } from '../../../src/store/accounts/sessions.ts'
import type { Database } from '../../../src/store/store.ts'

export interface TestPerson {
  /** `people.number`. */
  readonly number: number
  readonly personId: string
  readonly email: string
}

export interface SignedInPerson extends TestPerson {
  readonly sessionId: string
  /** The header Cookie of requests to a loopback address. */
  readonly cookie: string
}

/** The password of everybody whom this file makes. */
export const PASSWORD_OF_PEOPLE = 'a sentence that only they know'
let hashed: Promise<string> | undefined

/** A person who is not signed in. `workspaceId`: by default every workspace. */
export async function addMember(
  { database }: { readonly database: Database },
  role: Role,
  workspaceId: string = EVERY_WORKSPACE,
): Promise<TestPerson> {
  const id = randomUUID()
  const email = `${role}-${id}@example.com`
  const password = await (hashed ??= new PasswordHashes().hash(PASSWORD_OF_PEOPLE))
  return database.write(async (store) => {
    await lockPeople(store)
    const added = await addPerson(store, { id, email, name: `The ${role}`, password, createdAt: Date.now() })
    await saveGrant(store, added.number, { workspaceId, role })
    return { number: added.number, personId: id, email }
  })
}

/** A person with a session. `workspaceId`: by default every workspace. */
export async function signInAs(
  server: { readonly database: Database },
  role: Role,
  workspaceId: string = EVERY_WORKSPACE,
): Promise<SignedInPerson> {
  const person = await addMember(server, role, workspaceId)
  const origin = { address: '127.0.0.1', agent: 'a test', now: Date.now() }
  const { token, session } = await server.database.write((store) => openSession(store, person.number, origin))
  return { ...person, sessionId: session.id, cookie: `__Host-tidings=${token}` }
}

/** As if it had been idle for too long. */
export async function endSession(
  { database }: { readonly database: Database },
  { number, sessionId }: SignedInPerson,
): Promise<void> {
  await database.write((store) => removeSession(store, number, sessionId))
}
