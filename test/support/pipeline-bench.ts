// The pipeline on a real store and a real log, on this thread, so that tests decide when it runs and what is in the log.
import { join } from 'node:path'
import type { WorkspaceSettings } from '../../src/core/workspace.ts'
import type { EntryContext, EntryKind, LogEntry, LogReader, LogWriter } from '../../src/log/event-log.ts'
import { raiseVersion } from '../../src/operations/campaigns/change-goals.ts'
import { openSqliteLogReader } from '../../src/log/sqlite/sqlite-log-reader.ts'
import { openSqliteLog } from '../../src/log/sqlite/sqlite-log.ts'
import { LogFollower, type AppliedBatch } from '../../src/pipeline/follower/follow-log.ts'
import { addCampaign, lockCampaigns, type NewCampaign } from '../../src/store/campaigns/campaigns.ts'
import { createWorkspace } from '../../src/actions/create-workspace.ts'
import { findCursor, PIPELINE_CURSOR } from '../../src/store/entries/cursors.ts'
import { LOG_FILE } from '../../src/log/open-log.ts'
import { openDatabase, type DatabaseLocation } from '../../src/store/open-database.ts'
import { findReceipt, type RequestReceipt } from '../../src/store/entries/request-receipts.ts'
import type { Database } from '../../src/store/store.ts'
import { WriterLock } from '../../src/runtime/writer-lock.ts'
import { until } from './server.ts'
import { makeStore, openTestDatabase, type StoreKind } from './stores.ts'

/** Something for the log; a body that is a text or bytes goes in as it is, valid or not. */
export interface TestEntry {
  readonly body: unknown
  readonly kind?: EntryKind
  readonly workspaceId?: string
  readonly receivedAt?: number
  readonly context?: EntryContext
}

export interface PipelineBench {
  readonly location: DatabaseLocation
  readonly database: Database
  readonly log: LogWriter
  readonly logReader: LogReader
  /** The workspace of entries that name none; the last one made. */
  readonly workspaceId: string
  /** Makes a workspace, so that tests which share a bench do not meet each other. */
  makeWorkspace(settings?: Partial<WorkspaceSettings>): Promise<string>
  /** Adds a campaign to the workspace, without goals if none are given; gives its number. */
  makeCampaign(rest?: Partial<Pick<NewCampaign, 'id' | 'goals'>>): Promise<number>
  /** Appends entries, in order; returns their request ids. */
  append(...entries: readonly TestEntry[]): Promise<string[]>
  /** All entries behind the cursor. */
  readNew(): Promise<LogEntry[]>
  cursor(): Promise<number>
  /** Follows the log to its end, with this many followers at once, each on a connection of its own. */
  follow(followers?: number): Promise<Followed>
  /** One follower on a connection of its own, which the test may meddle with; `stop` ends both. */
  startFollower(): { readonly database: Database; readonly followed: Followed; readonly stop: () => Promise<void> }
  receipt(requestId: string | undefined, workspaceId?: string): Promise<RequestReceipt | undefined>
  close(): Promise<void>
}

/** What the followers reported. */
export interface Followed {
  readonly batches: readonly AppliedBatch[]
  readonly failures: readonly string[]
}

export const NOW = Date.parse('2026-05-04T10:00:00.000Z')

export async function openPipelineBench(kind: StoreKind): Promise<PipelineBench> {
  const location = await makeStore(kind)
  const database = await openTestDatabase(location)
  const logPath = join(location.dataDir, LOG_FILE)
  const log = openSqliteLog({ path: logPath })
  const logReader = openSqliteLogReader(logPath)
  const cursor = () => findCursor(database, PIPELINE_CURSOR)
  let appended = 0
  let workspaces = 0
  return {
    location,
    database,
    log,
    logReader,
    get workspaceId() {
      return `workspace-${workspaces}`
    },
    async makeWorkspace(settings = {}) {
      const id = `workspace-${++workspaces}`
      await createWorkspace(database, id, settings, NOW)
      return id
    },
    makeCampaign: (rest) => makeCampaign(database, `workspace-${workspaces}`, rest),
    async append(...entries) {
      const requestIds = entries.map(() => `request-${++appended}`)
      const workspaceId = `workspace-${workspaces}`
      const pending = entries.map((entry, index) => {
        return log.append({
          workspaceId,
          ...toNewEntry(entry),
          requestId: requestIds[index] as string,
          partitionKey: workspaceId,
        })
      })
      await Promise.all(pending)
      return requestIds
    },
    readNew: async () => logReader.read(await cursor(), { entries: 10_000, bytes: 64 * 1024 * 1024 }),
    cursor,
    async follow(followers = 1) {
      const opened = Array.from({ length: followers }, () => openDatabase(location))
      const followed = { batches: [] as AppliedBatch[], failures: [] as string[] }
      const running = opened.map((own) => startFollower(own, logReader, followed))
      const end = await logReader.lastPosition()
      await until('the log is followed to its end', async () => (await cursor()) >= end)
      for (const follower of running) await follower.stop()
      for (const own of opened) await own.close()
      return followed
    },
    startFollower() {
      const own = openDatabase(location)
      const followed = { batches: [] as AppliedBatch[], failures: [] as string[] }
      const follower = startFollower(own, logReader, followed)
      const stop = async () => {
        await follower.stop()
        await own.close()
      }
      return { database: own, followed, stop }
    },
    receipt: (requestId = '', workspaceId = `workspace-${workspaces}`) => {
      return findReceipt(database, workspaceId, requestId)
    },
    async close() {
      await log.close()
      await logReader.close()
      await database.close()
      await location.remove()
    },
  }
}

function makeCampaign(
  database: Database,
  workspaceId: string,
  rest: Partial<Pick<NewCampaign, 'id' | 'goals'>> = {},
): Promise<number> {
  const fields = { name: 'Summer', platforms: ['EMAIL'], goals: [], createdBy: 'anna', createdAt: NOW }
  return database.write(async (store) => {
    await lockCampaigns(store, workspaceId)
    const { number } = await addCampaign(store, { id: `campaign-${workspaceId}`, workspaceId, ...fields, ...rest })
    await raiseVersion(store, workspaceId)
    return number
  })
}

function startFollower(
  database: Database,
  logReader: LogReader,
  followed: { batches: AppliedBatch[]; failures: string[] },
): LogFollower {
  const follower = new LogFollower({
    database,
    logReader,
    writerLock: new WriterLock(),
    clock: () => NOW,
    onBatch: (applied) => void followed.batches.push(applied),
    onFailure: (_error, what) => void followed.failures.push(what),
  })
  follower.start()
  return follower
}

function toNewEntry({ body, ...given }: TestEntry) {
  return { kind: 'track_events' as const, receivedAt: NOW, context: {}, events: 0, ...given, body: toBytes(body) }
}

function toBytes(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}
