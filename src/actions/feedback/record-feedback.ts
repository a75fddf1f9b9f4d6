// Applies what mail systems report about messages: first the tables that keep people from being sent to, then the log, which counts
// it. Each step may be repeated: a message bounces once, however often and by whom it is reported.
import { messageIdOfRun, EMAIL_PLATFORM } from '../../core/delivery/delivery-entry.ts'
import type { Suppression } from '../../core/delivery/suppression.ts'
import { ignored, type Feedback, type Ignored } from '../../core/feedback/judge-bounce.ts'
import { toIso } from '../../core/time-value.ts'
import type { Workspace } from '../../core/workspace.ts'
import type { LogWriter } from '../../log/event-log.ts'
import { findSentMessages, type MessageNumbers, type SentMessage } from '../../store/delivery/sent-messages.ts'
import { recordSoftBounces } from '../../store/senders/soft-bounces.ts'
import { addSuppressions } from '../../store/senders/suppressions.ts'
import type { Database } from '../../store/store.ts'
import { isGenuine, readToken } from '../links/link-token.ts'
import { findAddresses, toShownEvidence } from './shown-addresses.ts'
import { optOutByComplaint } from './opt-out-by-complaint.ts'

/** What one report says, and the tokens in it that may name the message. */
export interface ReportedFeedback {
  readonly outcome: Feedback | Ignored
  readonly tokens: readonly string[]
}

export interface FeedbackParts {
  readonly database: Database
  readonly log: LogWriter
  /** Resolves when what was acknowledged so far is in the tables; see `AppliedEntries`. */
  readonly waitUntilApplied: () => Promise<void>
  readonly receiptClock: () => number
}

export interface FeedbackRequest {
  readonly workspace: Workspace
  readonly requestId: string
  readonly now: number
  /** The caller's address, for proofs. */
  readonly ip: string
}

/** Feedback that counts, and its message. */
interface Counted {
  readonly feedback: Feedback
  readonly message: SentMessage & { readonly at: number }
}

/**
 * Returns for each report what became of it, in order. Throws AppError `unavailable` if the outcomes of messages are not in the tables
 * yet, or the log is full: the sender of the reports sends them again.
 */
export async function recordFeedback(
  reports: readonly ReportedFeedback[],
  request: FeedbackRequest,
  parts: FeedbackParts,
): Promise<(Feedback | Ignored)[]> {
  const named = reports.map((report) => nameMessage(report, request.workspace))
  const messages = await findMessages(named, request, parts)
  const judged = named.map((one) => ('target' in one ? judge(one, messages) : one))
  const counted = judged.filter((one) => 'message' in one)
  await changeTables(counted, request, parts)
  await tell(counted, request, parts)
  return judged.map((one) => ('message' in one ? one.feedback : one))
}

interface Named {
  readonly feedback: Feedback
  readonly target: MessageNumbers
}

/** Only who has the mail, or a server that handled it, knows the token. */
function nameMessage({ outcome, tokens }: ReportedFeedback, { linkKey }: Workspace): Named | Ignored {
  if (outcome.kind === 'ignored') return outcome
  const read = tokens.map(readToken)
  const target = read.find((token) => token?.purpose === 'bounce' && isGenuine(token, linkKey))
  if (!target) return ignored('no_valid_token')
  if (target.message === 0) return ignored('test_message')
  return { feedback: outcome, target: { run: target.run, message: target.message } }
}

/** A bounce may arrive before the outcome of its message is in the tables. */
async function findMessages(
  named: readonly (Named | Ignored)[],
  { workspace }: FeedbackRequest,
  { database, waitUntilApplied }: FeedbackParts,
): Promise<Map<string, SentMessage>> {
  const targets = new Map(named.flatMap((one) => ('target' in one ? [[keyOf(one.target), one.target] as const] : [])))
  const find = async () => {
    const found = await findSentMessages(database, workspace.id, [...targets.values()])
    return new Map(found.map((message) => [keyOf(message), message]))
  }
  const found = await find()
  if ([...targets.keys()].every((key) => (found.get(key)?.at ?? null) !== null)) return found
  await waitUntilApplied()
  return find()
}

function keyOf({ run, message }: MessageNumbers): string {
  return messageIdOfRun(run, message)
}

function judge({ feedback, target }: Named, messages: ReadonlyMap<string, SentMessage>): Counted | Ignored {
  const message = messages.get(keyOf(target))
  if (!message) return ignored('unknown_message')
  const { at } = message
  return at === null ? ignored('not_sent') : { feedback, message: { ...message, at } }
}

async function changeTables(
  counted: readonly Counted[],
  { workspace, now, ip }: FeedbackRequest,
  { database }: FeedbackParts,
): Promise<void> {
  const suppressing = counted.filter(({ feedback }) => suppressionReasonOf(feedback) !== undefined)
  const soft = counted.filter(({ feedback }) => feedback.kind === 'bounce' && feedback.address === 'soft_bounce')
  if (suppressing.length + soft.length > 0) {
    await database.write(async (store) => {
      const keys = [...suppressing, ...soft].map(({ message }) => message.emailKey)
      const emails = await findAddresses(store, workspace.id, keys)
      await addSuppressions(
        store,
        suppressing.map((one) => toSuppression(one, { workspace, emails, now })),
      )
      const bounces = soft.map((one) => ({ ...toAddress(one, emails), run: one.message.run, at: one.message.at }))
      await recordSoftBounces(store, workspace.id, bounces)
    })
  }
  const complaints = counted.filter(({ feedback }) => feedback.kind === 'complaint').map(({ message }) => message)
  if (complaints.length > 0) await optOutByComplaint(database, { workspace, messages: complaints, now, ip })
}

function suppressionReasonOf(feedback: Feedback): 'complaint' | 'hard_bounce' | undefined {
  if (feedback.kind === 'complaint') return 'complaint'
  return feedback.kind === 'bounce' && feedback.address === 'hard_bounce' ? 'hard_bounce' : undefined
}

type Emails = ReadonlyMap<string, string | null>

function toAddress({ feedback, message: { emailKey } }: Counted, emails: Emails) {
  const evidence = 'evidence' in feedback ? feedback.evidence : null
  return { emailKey, email: emails.get(emailKey) ?? null, evidence: toShownEvidence(emailKey, evidence) }
}

function toSuppression(
  one: Counted,
  { workspace, emails, now }: { readonly workspace: Workspace; readonly emails: Emails; readonly now: number },
): Suppression {
  const reason = suppressionReasonOf(one.feedback) ?? 'hard_bounce'
  return { ...toAddress(one, emails), workspaceId: workspace.id, reason, since: now }
}

/** Appends the message events, one entry for each run. With the run, the pipeline leaves out who was erased meanwhile. */
async function tell(
  counted: readonly Counted[],
  { workspace, requestId }: FeedbackRequest,
  { log, receiptClock }: FeedbackParts,
): Promise<void> {
  for (const [run, some] of Map.groupBy(counted, ({ message }) => message.run)) {
    const { campaign } = (some[0] as Counted).message
    await log.append({
      kind: 'svc_message_events',
      workspaceId: workspace.id,
      requestId,
      receivedAt: receiptClock(),
      context: { campaign },
      events: some.length,
      partitionKey: requestId,
      body: Buffer.from(JSON.stringify({ run, events: some.map(toMessageReport) })),
    })
  }
}

/**
 * The time is that of the message, so that all reports of one bounce are one fact, and a rate of a day compares what was sent on it
 * with what became of that. Reports of one bounce by a mail server and by a mail service name different times.
 */
function toMessageReport({ feedback, message }: Counted) {
  const { customerId, at } = message
  return {
    customer_id: customerId,
    platform: EMAIL_PLATFORM,
    kind: feedback.kind,
    time: toIso(at),
    message_id: keyOf(message),
    ...(feedback.kind === 'bounce' && { reason: feedback.reason }),
  }
}
