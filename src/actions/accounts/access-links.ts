// Makes access links. The token is returned once; the store keeps its hash.
import { ACCESS_LINK_MS, accessLinkPath, type AccessLink } from '../../core/accounts/access-link.ts'
import { EVERY_WORKSPACE } from '../../core/accounts/person.ts'
import { addAccessLink } from '../../store/accounts/access-links.ts'
import { countPeople } from '../../store/accounts/people.ts'
import type { Database, Store } from '../../store/store.ts'
import { hashToken, newToken } from './secret-token.ts'

export interface MadeLink {
  /** From the address of the server: `/dashboard/invitation#TOKEN`. */
  readonly path: string
  readonly expiresAt: number
}

export async function makeAccessLink(
  store: Store,
  { now, ...wanted }: Omit<AccessLink, 'createdAt' | 'expiresAt'> & { readonly now: number },
): Promise<MadeLink> {
  const token = newToken()
  const link = { ...wanted, createdAt: now, expiresAt: now + ACCESS_LINK_MS[wanted.kind] }
  await addAccessLink(store, hashToken(token), link)
  return { path: accessLinkPath(link.kind, token), expiresAt: link.expiresAt }
}

/** For a server without people: a link for its owner. Undefined if there are people. */
export async function makeSetupLink(database: Database, now: number): Promise<MadeLink | undefined> {
  if ((await countPeople(database)) > 0) return undefined
  const wanted = { kind: 'setup', email: null, role: 'owner', workspaceId: EVERY_WORKSPACE, now } as const
  return database.write((store) => makeAccessLink(store, wanted))
}
