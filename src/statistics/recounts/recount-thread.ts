// The thread that checks the numbers of one campaign, so that it delays no request. `run-recount.ts` starts it.
import { parentPort, workerData } from 'node:worker_threads'
import { yieldToRequests } from '../../runtime/yield-to-requests.ts'
import { toDescription } from '../../store/describe-error.ts'
import { openDatabase, type DatabaseLocation } from '../../store/open-database.ts'
import type { RecountResult } from '../../store/statistics/recounts.ts'
import { verifyCampaign } from '../verify-statistics.ts'

export interface RecountThreadData {
  readonly location: DatabaseLocation
  readonly workspaceId: string
  /** `campaigns.number`. */
  readonly campaign: number
}

/** `error` is a description (`describe-error.ts`). */
export type RecountMessage =
  | { readonly type: 'progress'; readonly users: number }
  | { readonly type: 'counted'; readonly users: number; readonly result: RecountResult }
  | { readonly type: 'failed'; readonly error: unknown }

/** The differences that are kept; all are counted. */
const DIFFERENCES_KEPT_MAX = 10

const port = parentPort
if (!port) throw new Error('recount-thread.ts is started as a thread')
const { location, workspaceId, campaign } = workerData as RecountThreadData
const send = (message: RecountMessage): void => port.postMessage(message)

yieldToRequests()
const database = openDatabase(location)
try {
  const onProgress = ({ users }: { readonly users: number }) => send({ type: 'progress', users })
  const { users, cells, differingCells, differences } = await verifyCampaign(
    database,
    { workspaceId, campaign },
    onProgress,
  )
  const kept = differences.slice(0, DIFFERENCES_KEPT_MAX).map(({ cell, stored, counted }) => {
    const { metric, group, platform, locale, variation, day } = cell
    return { metric, group, platform, locale, variation, day, stored, counted }
  })
  send({ type: 'counted', users, result: { comparedCells: cells, differingCells, differences: kept } })
} catch (error) {
  send({ type: 'failed', error: toDescription(error) })
} finally {
  await database.close()
  port.close()
}
