// The audit trail: who changed what, and when. An entry holds only what differs (`field-changes.ts`).
import { toActorName, type Credential } from './credential.ts'
import type { Difference } from './field-changes.ts'

/** What can change: the kinds of resources that people would ask about. */
export const AUDIT_KINDS = [
  'template',
  'coupon_list',
  'campaign',
  'segment',
  'sender',
  'suppression',
  'erasure',
  'workspace',
  'category',
  'key',
  'person',
  'parked_entry',
  'statistics',
] as const
export type AuditKind = (typeof AUDIT_KINDS)[number]

/** Who makes a change. Every request to an operation is one; `changedByCommand` makes one for a command. */
export interface ChangeContext {
  readonly workspace: { readonly id: string }
  readonly credential: Credential | CommandCredential
  /** Null for a command. */
  readonly callerAddress: string | null
  /** Null for a command. */
  readonly requestId: string | null
  /** When the request was received. */
  readonly now: number
}

/** The same, where the changed resource says which workspace it is. */
export type Changer = Omit<ChangeContext, 'workspace'>

/** Somebody who may use the command line of the server. */
export interface CommandCredential {
  readonly kind: 'command'
  /** The name in the operating system. */
  readonly user: string
}

/** Who made a change, as the trail names it: `key:data`, `person:ada@example.com` or `command:root`. */
export function toChangerName({ credential }: Pick<ChangeContext, 'credential'>): string {
  return credential.kind === 'command' ? `command:${credential.user}` : toActorName(credential)
}

/** One change of one resource, committed together with it. Entries are never changed, and deleted after `AUDIT_KEPT_MS`. */
export interface AuditEntry extends Difference {
  /** 1, 2, 3, … in each workspace, in the order of commits. */
  readonly number: number
  readonly at: number
  readonly who: string
  /** Where the request came from; null for a command. */
  readonly address: string | null
  /** The name of the operation, also if a command made the change. */
  readonly action: string
  readonly kind: AuditKind
  readonly subjectId: string
  /** Null if the resource has none. */
  readonly subjectName: string | null
  readonly requestId: string | null
}
