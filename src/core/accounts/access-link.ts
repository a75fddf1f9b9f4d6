// Links that let somebody in once without a password: to set up the server, to accept an invitation, to choose a new password.
import type { Role } from './role.ts'

export const ACCESS_LINK_KINDS = ['setup', 'invitation', 'reset'] as const
export type AccessLinkKind = (typeof ACCESS_LINK_KINDS)[number]

const MINUTE_MS = 60_000
/** How long a link works. An invitation waits for somebody to read a mail; the others are for somebody who asked just now. */
export const ACCESS_LINK_MS: { readonly [kind in AccessLinkKind]: number } = {
  setup: 30 * MINUTE_MS,
  invitation: 7 * 24 * 60 * MINUTE_MS,
  reset: 30 * MINUTE_MS,
}
/** Open invitations of one workspace. */
export const INVITATIONS_MAX = 200

export interface AccessLink {
  readonly kind: AccessLinkKind
  /** Null for the set-up of the server: there, the person writes one. */
  readonly email: string | null
  /** Null for a new password. */
  readonly role: Role | null
  /** Where the role holds, perhaps `EVERY_WORKSPACE`; null for a new password. */
  readonly workspaceId: string | null
  readonly createdAt: number
  readonly expiresAt: number
}

/** The path of the page that a link leads to. The token is in the fragment, which browsers send to no server. */
export function accessLinkPath(kind: AccessLinkKind, token: string): string {
  return `/dashboard/${kind}#${token}`
}
