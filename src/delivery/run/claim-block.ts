// Claims the next messages of a run, in one transaction: checks again who may be sent to, now that their turn comes, and holds their
// coupons. Claims of one workspace wait for each other, so that two campaigns in one second cannot both pass a frequency cap.
import { shownAttributes } from '../../actions/email-protection.ts'
import { findActiveListsByLabel } from '../../actions/coupons/active-coupon-lists.ts'
import { holdCoupons, releaseCoupons } from '../../actions/coupons/hold-coupons.ts'
import { findRefusals } from './place-people.ts'
import { calendarDate } from '../../core/coupons/coupon-list.ts'
import type { RemovalReason } from '../../core/delivery/message-state.ts'
import { EMAIL } from '../../core/users/user-attributes.ts'
import { NOTHING_SET } from '../../core/users/preference.ts'
import { pauseDelivery } from '../../store/delivery/deliveries.ts'
import { listMessagesOfUsers, listMessagesTo } from '../../store/delivery/frozen-messages.ts'
import { findSurvivors } from '../../store/delivery/linked-messages.ts'
import { claimMessages, listDueMessages } from '../../store/delivery/message-claims.ts'
import { moveMessages, type AddressedMessage, type RunMessage } from '../../store/delivery/messages.ts'
import { requireSenderLease, type SenderLease } from '../../store/senders/sender-leases.ts'
import type { Store } from '../../store/store.ts'
import type { EmailVault } from '../../store/users/email-vault.ts'
import { findPreferences } from '../../store/users/preferences.ts'
import { findUsers, type User } from '../../store/users/users.ts'
import type { OpenRun } from './open-run.ts'

/** A message whose turn has come, with everything that it needs. */
export interface ClaimedMessage {
  readonly message: RunMessage
  /** What its events name; `ClaimOptions`. */
  readonly claim: number
  /** Why it is not sent after all; undefined: it is sent. */
  readonly removal: RemovalReason | undefined
  /** The address; empty if it is not sent. */
  readonly address: string
  readonly attributes: Readonly<Record<string, unknown>>
  /** Label of a coupon list → code. */
  readonly coupons: Readonly<Record<string, string>>
  readonly allowsTracking: boolean
}

const NO_CODE_LEFT = 'A coupon list has no code left. Add codes, then resume the campaign.'

export interface ClaimOptions {
  readonly open: OpenRun
  readonly max: number
  /** Of this block only (`firstClaimUnder`). */
  readonly claim: number
  readonly now: number
  readonly emailVault: EmailVault | undefined
  /** The labels of the coupon lists that a message's template uses. */
  readonly couponLabelsOf: (message: RunMessage) => readonly string[]
}

/** Claims at most `max` messages, in the caller's transaction. Throws LeaseLost. */
export async function claimBlock(store: Store, lease: SenderLease, options: ClaimOptions): Promise<ClaimedMessage[]> {
  const { open, max, claim, now } = options
  const { run, workspace } = open
  await requireSenderLease(store, lease)
  if (run.isCapped) await store.lock(`frequency caps ${workspace.id}`)
  const due = await listDueMessages(store, run.number, { now, max })
  const turns = await checkTurns(store, due, options)
  const ready = await holdFor(store, turns, options)
  const claims = ready.map(({ message, removal, emailKey }) => {
    return { number: message.number, emailKey, claimedAt: removal ? null : now }
  })
  const claimed = new Set(await claimMessages(store, { run: run.number, claim }, claims))
  const isClaimed = ({ message }: Turn) => claimed.has(message.number)
  // Erased in the meantime, together with their persons.
  const gone = ready.filter((turn) => !isClaimed(turn)).map(({ message }) => message.number)
  if (gone.length > 0) await releaseCoupons(store, run.number, gone)
  return ready.filter(isClaimed)
}

interface Turn extends ClaimedMessage {
  /** As it is now. */
  readonly emailKey: string
}

/** Of a person who was erased, perhaps while the message was on a connection or the audience was frozen. */
const NOBODY: Omit<Turn, 'message' | 'claim'> = {
  removal: 'user_removed_due_to_missing_address',
  emailKey: '',
  address: '',
  attributes: {},
  coupons: {},
  allowsTracking: false,
}

/** Each message whose user is there. Those of users who were merged get their turn next time, as messages of the user who stayed. */
async function checkTurns(store: Store, due: readonly RunMessage[], options: ClaimOptions): Promise<Turn[]> {
  const { open, emailVault, claim, now } = options
  const { workspace, delivery, run } = open
  const userIds = [...new Set(due.map(({ userId }) => userId))]
  const users = new Map((await findUsers(store, userIds)).map((user) => [user.id, user]))
  const people = [...users.values()].map(({ id: userId, emailKey }) => ({ userId, emailKey: emailKey ?? '' }))
  const refusals = await findRefusals(store, { workspace, delivery: delivery.settings, now }, people)
  const preferences = await findPreferences(store, userIds)
  const others = await findOthers(store, run.number, people)
  const merged = await takeFromMerged(
    store,
    userIds.filter((id) => !users.has(id)),
  )
  const turns: Turn[] = []
  for (const message of due) {
    const user = users.get(message.userId)
    if (!user && !merged.has(message.userId)) turns.push({ ...NOBODY, message, claim })
    if (!user) continue
    const emailKey = user.emailKey ?? ''
    const removal =
      emailKey === ''
        ? 'user_removed_due_to_missing_address'
        : (refusals.reasonFor({ userId: user.id, emailKey }) ?? others.duplicateReason(message, emailKey))
    const { preference } = preferences.get(user.id) ?? { preference: NOTHING_SET }
    const allowsTracking = preference.tracking?.[0] !== false
    const { address, attributes } = readUser(user, options.open, emailVault)
    if (!removal) others.take(message, emailKey)
    turns.push({ message, claim, removal, emailKey, address, attributes, coupons: {}, allowsTracking })
  }
  return turns
}

/** Gives the messages of those users who were merged to the users who stayed. Returns the merged ones; the others were erased. */
async function takeFromMerged(store: Store, ids: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const survivors = await findSurvivors(store, ids)
  const merges = [...survivors].map(([from, into]) => ({ from, into }))
  await moveMessages(store, merges)
  return survivors
}

function readUser(user: User, { workspace }: OpenRun, emailVault: EmailVault | undefined) {
  const attributes = shownAttributes(workspace, user, emailVault)
  const email = attributes[EMAIL]
  return { attributes, address: typeof email === 'string' ? email.trim() : '' }
}

/** The other messages of the run to the same addresses and people. */
interface Others {
  readonly duplicateReason: (message: RunMessage, emailKey: string) => RemovalReason | undefined
  /** Counts a message of this block as sent. */
  readonly take: (message: RunMessage, emailKey: string) => void
}

/** Addresses change and users merge after the freeze, so each turn looks for duplicates again: who was first is not sent to twice. */
async function findOthers(
  store: Store,
  run: number,
  people: readonly { readonly userId: number; readonly emailKey: string }[],
): Promise<Others> {
  const sameAddress = await listMessagesTo(
    store,
    run,
    people.map(({ emailKey }) => emailKey),
  )
  const sameUser = await listMessagesOfUsers(
    store,
    run,
    people.map(({ userId }) => userId),
  )
  const takers = new Map<string, number>()
  const take = ({ number, userId }: Pick<AddressedMessage, 'number' | 'userId'>, emailKey: string) => {
    takers.set(`address ${emailKey}`, number)
    takers.set(`user ${userId}`, number)
  }
  for (const message of [...sameAddress, ...sameUser].filter(isTaken)) take(message, message.emailKey)
  return {
    take,
    duplicateReason({ number, userId }, emailKey) {
      const isOther = (taker: number | undefined) => taker !== undefined && taker !== number
      const isDuplicate = isOther(takers.get(`address ${emailKey}`)) || isOther(takers.get(`user ${userId}`))
      return isDuplicate ? 'user_removed_due_to_duplicate' : undefined
    },
  }
}

/** Whether nobody else with this address may be sent the campaign: it was sent, or a control group must not see it. */
function isTaken({ state }: AddressedMessage): boolean {
  return state === 'sending' || state === 'sent' || state === 'in_doubt' || state === 'control'
}

/** Holds the coupons of messages that are sent. Leaves out those that wait, because the campaign pauses when a list is empty. */
async function holdFor(store: Store, turns: readonly Turn[], options: ClaimOptions): Promise<Turn[]> {
  const { open, now, couponLabelsOf } = options
  const { run, delivery, workspace } = open
  const labelsOf = (turn: Turn) => couponLabelsOf(turn.message)
  const labels = [...new Set(turns.filter(isSent).flatMap(labelsOf))]
  if (labels.length === 0) return [...turns]
  const today = calendarDate(workspace.timezone, now)
  const lists = await findActiveListsByLabel(store, workspace.id, { labels, today })
  const wanted = turns.filter(isSent).flatMap((turn) => {
    const numbers = labelsOf(turn).map((label) => lists.get(label)?.number)
    return numbers.every((number) => number !== undefined)
      ? [{ message: turn.message.number, listNumbers: numbers }]
      : []
  })
  const held = await holdCoupons(store, { run: run.number, at: now, wanted })
  const sent = turns.filter(isSent)
  const lacking = sent.filter(({ message }) => !held.get(message.number))
  const waits = delivery.settings.couponsWhenEmpty === 'pause'
  // Messages that have their codes are sent before the campaign pauses.
  if (waits && lacking.length > 0 && lacking.length === sent.length)
    await pauseDelivery(store, run.campaign, { since: now, reason: NO_CODE_LEFT })
  return turns.flatMap((turn) => {
    if (!isSent(turn)) return [turn]
    const codes = held.get(turn.message.number)
    if (!codes) return waits ? [] : [{ ...turn, removal: 'user_removed_due_to_coupon_missing' as const }]
    const named = labelsOf(turn).map((label) => [label, codes.get(lists.get(label)?.number ?? 0) ?? ''] as const)
    return [{ ...turn, coupons: Object.fromEntries(named) }]
  })
}

function isSent({ removal }: Turn): boolean {
  return removal === undefined
}
