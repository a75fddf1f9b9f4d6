// Judges hits ten seconds after they came, and tells the log the facts. A verdict is stored before its facts are told, so that it never
// changes; a process that dies in between, or two at once, tell the same facts again, which changes nothing.
import { v7 as newEntryId } from 'uuid'
import {
  contextOf,
  findBursts,
  judgeHit,
  JUDGED_AFTER_MS,
  type Burst,
  type HitVerdict,
} from '../../core/links/judge-hits.ts'
import { EMAIL_PLATFORM, messageIdOfRun } from '../../core/delivery/delivery-entry.ts'
import type { MachineNetwork } from '../../core/delivery/delivery-config.ts'
import type { HitKind } from '../../core/links/link-entry.ts'
import type { MessageKind } from '../../core/campaigns/facts.ts'
import type { MessageReport } from '../../core/campaigns/report.ts'
import { toIso } from '../../core/time-value.ts'
import type { LogReader, LogWriter } from '../../log/event-log.ts'
import { startRepeating } from '../../runtime/repeat.ts'
import { listPipelineCursors } from '../../store/entries/cursors.ts'
import { findRunCampaigns, findMessageOwners, type LinkedCampaign } from '../../store/delivery/linked-messages.ts'
import {
  listClicks,
  listUnjudgedHits,
  listUntoldHits,
  markHitsTold,
  saveVerdicts,
  type MessagePeriod,
  type StoredHit,
  type UntoldHit,
} from '../../store/delivery/message-hits.ts'
import type { Database, Store } from '../../store/store.ts'
import { MachineNetworks } from './machine-networks.ts'

/** How often hits are looked at that may be due. */
const JUDGE_EVERY_MS = 1_000
/** How many hits are judged, or told, at a time. */
const HITS_AT_ONCE = 1_000

interface JudgingParts {
  readonly database: Database
  readonly log: Pick<LogWriter, 'append'>
  readonly logReader: LogReader
  /** Milliseconds since the epoch. */
  readonly clock: () => number
}

export interface JudgingOptions extends JudgingParts {
  /** The operator's list (`MACHINE_NETWORKS`). */
  readonly machineNetworks: readonly MachineNetwork[]
}

export interface Judging extends JudgingParts {
  readonly networks: MachineNetworks
}

/** Judges hits again and again; the returned function stops it, and resolves when no round is running. */
export function startJudging(
  options: JudgingOptions,
  { onFailed }: { readonly onFailed: (error: unknown) => void },
): () => Promise<void> {
  const networks = new MachineNetworks(options.machineNetworks)
  const judge = (isStopping: () => boolean) => judgeDueHits({ ...options, networks }, isStopping)
  return startRepeating(judge, { everyMs: JUDGE_EVERY_MS, onFailed })
}

/** One round: judges the hits that are due, and tells what is not told. Any number of processes may do so at once. */
export async function judgeDueHits(judging: Judging, isStopping: () => boolean = () => false): Promise<void> {
  const { database, networks } = judging
  const until = (await findAppliedBefore(judging)) - 1 - JUDGED_AFTER_MS
  while (!isStopping() && (await judgeSome(database, { until, networks })));
  while (!isStopping() && (await tellSome(judging)));
}

/** The instant before which all hits are in the table: while the pipeline is behind, a burst may be known only in part. */
async function findAppliedBefore({ database, logReader, clock }: JudgingParts): Promise<number> {
  const now = await logReader.lowWatermark(clock())
  const unapplied = await logReader.firstAfter(await listPipelineCursors(database, logReader.partitions))
  return Math.min(now, unapplied?.receivedAt ?? now)
}

/** True if there may be more. */
async function judgeSome(
  database: Database,
  { until, networks }: { readonly until: number; readonly networks: MachineNetworks },
): Promise<boolean> {
  const hits = await listUnjudgedHits(database, { until, max: HITS_AT_ONCE })
  if (hits.length === 0) return false
  const bursts = await findBurstsAround(database, hits)
  const isMachineAddress = (ip: string, kind: HitKind) => networks.has(ip, kind)
  const judged = hits.map((hit) => {
    const verdict = judgeHit(hit, { bursts: bursts.get(messageIdOfRun(hit.run, hit.message)) ?? [], isMachineAddress })
    return { id: hit.id, verdict }
  })
  await database.write((store) => saveVerdicts(store, judged))
  return hits.length === HITS_AT_ONCE
}

/** Message id → the bursts that may concern its hits. */
async function findBurstsAround(store: Store, hits: readonly StoredHit[]): Promise<Map<string, Burst[]>> {
  const clicks = await listClicks(store, periodsOf(hits))
  const byMessage = Map.groupBy(clicks, ({ run, message }) => messageIdOfRun(run, message))
  return new Map([...byMessage].map(([id, own]) => [id, findBursts(own)]))
}

/** One period for each message. It may be longer than the hits need: bursts elsewhere concern none of them. */
function periodsOf(hits: readonly StoredHit[]): MessagePeriod[] {
  const periods = new Map<string, MessagePeriod>()
  for (const hit of hits) {
    const { run, message } = hit
    const id = messageIdOfRun(run, message)
    const { since, until } = contextOf(hit)
    const known = periods.get(id) ?? { run, message, since, until }
    periods.set(id, { ...known, since: Math.min(known.since, since), until: Math.max(known.until, until) })
  }
  return [...periods.values()]
}

/** True if there may be more. */
async function tellSome({ database, log, clock }: JudgingParts): Promise<boolean> {
  const hits = await listUntoldHits(database, HITS_AT_ONCE)
  if (hits.length === 0) return false
  const runs = await findRunCampaigns(database, [...new Set(hits.map(({ run }) => run))])
  const reports = Map.groupBy(await toReports(database, hits), ({ run }) => run)
  for (const [run, own] of reports) {
    const campaign = runs.get(run)
    if (campaign) await appendReports(log, { campaign, run, events: own.map(({ report }) => report), now: clock() })
  }
  const ids = hits.map(({ id }) => id)
  await database.write((store) => markHitsTold(store, ids))
  return hits.length === HITS_AT_ONCE
}

interface RunReport {
  readonly run: number
  readonly report: MessageReport
}

/** The facts of hits; none of erased persons. */
async function toReports(store: Store, hits: readonly UntoldHit[]): Promise<RunReport[]> {
  const keys = new Map(hits.map(({ run, message }) => [messageIdOfRun(run, message), { run, number: message }]))
  const owners = await findMessageOwners(store, [...keys.values()])
  const customers = new Map(
    owners.flatMap(({ run, number, userId, customerId }) =>
      userId === undefined ? [] : [[messageIdOfRun(run, number), customerId] as const],
    ),
  )
  return hits.flatMap(({ run, message, kind, at, verdict }) => {
    const messageId = messageIdOfRun(run, message)
    const customerId = customers.get(messageId)
    if (customerId === undefined) return []
    const basis = { customer_id: customerId, platform: EMAIL_PLATFORM, time: toIso(at), message_id: messageId }
    return factKindsOf(kind, verdict).map((factKind) => ({ run, report: { ...basis, kind: factKind } }))
  })
}

/** People and the proxies that fetch pictures for them count alike. */
function factKindsOf(kind: HitKind, verdict: HitVerdict): MessageKind[] {
  if (kind === 'click') return [verdict === 'machine' ? 'machine_click' : 'click']
  if (verdict === 'machine') return ['machine_impression']
  return verdict === 'proxy' ? ['impression', 'proxy_impression'] : ['impression']
}

async function appendReports(
  log: JudgingParts['log'],
  {
    campaign: { workspaceId, campaign },
    run,
    events,
    now,
  }: {
    readonly campaign: LinkedCampaign
    readonly run: number
    readonly events: readonly MessageReport[]
    readonly now: number
  },
): Promise<void> {
  const requestId = newEntryId()
  await log.append({
    kind: 'svc_message_events',
    workspaceId,
    requestId,
    receivedAt: now,
    context: { campaign },
    // With the run, the pipeline leaves out who was erased meanwhile.
    body: Buffer.from(JSON.stringify({ run, events })),
    events: events.length,
    partitionKey: requestId,
  })
}
