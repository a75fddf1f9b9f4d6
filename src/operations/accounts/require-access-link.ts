// Finds the link of a token, or refuses.
import { AppError } from '../../core/app-error.ts'
import type { AccessLink } from '../../core/accounts/access-link.ts'
import { hashToken } from '../../actions/accounts/secret-token.ts'
import { findAccessLink } from '../../store/accounts/access-links.ts'
import type { Store } from '../../store/store.ts'
import { Text } from '../fields.ts'

const TOKEN_LENGTH_MAX = 128

export const LinkToken = Text(1, TOKEN_LENGTH_MAX, 'The part of the link after `#`.')

/** Throws AppError `not_found` if no link that works has this token. */
export async function requireAccessLink(store: Store, token: string, now: number): Promise<AccessLink> {
  const link = await findAccessLink(store, hashToken(token), now)
  if (link) return link
  throw noSuchLink()
}

export function noSuchLink(): AppError {
  return new AppError('not_found', 'This link was already used, has expired, or never existed. Ask for a new one.')
}
