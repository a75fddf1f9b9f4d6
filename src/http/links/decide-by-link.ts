// Carries out what a person decides on a page behind a link: finds the person, makes the decision durable in the log, and waits a
// moment until it is applied.
import type { FastifyRequest } from 'fastify'
import { userKey, type Attributes } from '../../core/users/user.ts'
import { toPageLanguage, type PageLanguage } from '../../core/links/page-words.ts'
import type { LinkOptInBody } from '../../core/links/link-entry.ts'
import { NOTHING_SET, type Preference } from '../../core/users/preference.ts'
import type { Parts } from '../../operations/operation.ts'
import { findMessageOwners } from '../../store/delivery/linked-messages.ts'
import { findPreferences } from '../../store/users/preferences.ts'
import { findUsers } from '../../store/users/users.ts'
import type { Store } from '../../store/store.ts'
import { callerAddress } from '../requests/caller-address.ts'
import type { OpenedLink } from './link-reader.ts'
import { within } from './within.ts'

/** How long the answer waits until the decision is applied. It is durable before, and is applied in any case. */
const APPLIED_WAIT_MS = 1_000

/** What the pages need to know of a message's person. */
export interface LinkPerson {
  /** Undefined for tests, and for persons who were erased: their decisions change nothing. */
  readonly customerId: string | undefined
  readonly language: PageLanguage
  /** As it is stored: of any type. */
  readonly locale: unknown
  readonly preference: Preference
}

const NOBODY: LinkPerson = { customerId: undefined, language: 'en', locale: undefined, preference: NOTHING_SET }

export async function findLinkPerson(store: Store, { run, message }: OpenedLink): Promise<LinkPerson> {
  const [owner] = message === 0 ? [] : await findMessageOwners(store, [{ run: run.number, number: message }])
  if (owner?.userId === undefined) return NOBODY
  const [user] = await findUsers(store, [owner.userId])
  if (!user) return NOBODY
  const preference = (await findPreferences(store, [user.id])).get(user.id)?.preference ?? NOTHING_SET
  const locale = localeOf(user.attributes)
  return { customerId: owner.customerId, language: toPageLanguage(locale), locale, preference }
}

type Decision = Pick<LinkOptInBody, 'action' | 'request'>

/**
 * Resolves when the decision is durable and, if that takes no longer than `APPLIED_WAIT_MS`, applied. Rejects with AppError
 * `unavailable` if the log is full or unreachable.
 */
export async function decideByLink(
  request: FastifyRequest,
  { run, message }: OpenedLink,
  { customerId, decision, parts }: { customerId: string; decision: Decision; parts: Parts },
): Promise<void> {
  const body: LinkOptInBody = { run: run.number, message, customer_id: customerId, ...decision }
  await parts.log.append({
    kind: 'svc_opt_in',
    workspaceId: run.workspaceId,
    requestId: request.id,
    receivedAt: parts.receiptClock(),
    context: { campaign: run.campaign, ip: callerAddress(request) },
    body: Buffer.from(JSON.stringify(body)),
    events: 0,
    // The requests of one person are applied in order.
    partitionKey: userKey({ id: run.workspaceId, identityResolution: [] }, { customer_id: customerId }),
  })
  await within(
    APPLIED_WAIT_MS,
    parts.appliedEntries.wait().catch(() => {}),
  )
}

function localeOf(attributes: Attributes): unknown {
  return Object.hasOwn(attributes, 'locale') ? attributes['locale']?.[0] : undefined
}
