// Checks the numbers of campaigns for which somebody asked, one after another, each on a thread of its own. How far it is stands in the
// store, so it can be left and found again; what a process did not finish, the next one begins again.
import { runRecount, type CountedCampaign } from '../statistics/recounts/run-recount.ts'
import type { DatabaseLocation } from '../store/open-database.ts'
import {
  claimRecount,
  failRecount,
  findWaitingRecount,
  finishRecount,
  releaseRecount,
  saveRecountProgress,
  type RecountClaim,
} from '../store/statistics/recounts.ts'
import type { Database } from '../store/store.ts'
import { countUsers } from '../store/users/user-counts.ts'
import type { Job } from './job.ts'

/** How soon a recount begins. */
const RECOUNT_EVERY_MS = 1_000
/** How often it says how far it is. */
const PROGRESS_EVERY_MS = 500
const FAILED = 'The numbers could not be counted. The diagnostics of the server say why.'

export interface RecountOptions {
  readonly database: Database
  readonly location: DatabaseLocation
  /** Milliseconds since the epoch. */
  readonly clock: () => number
}

export function recountCampaigns(options: RecountOptions): Job {
  const { database, clock } = options
  return {
    name: 'recount campaigns',
    everyMs: RECOUNT_EVERY_MS,
    async run(isStopping) {
      while (!isStopping()) {
        const waiting = await findWaitingRecount(database, clock())
        if (!waiting) return
        const claim = await database.write((store) => claimRecount(store, waiting, clock()))
        if (claim) await recount(claim, options, isStopping)
      }
    },
  }
}

/** Counts, and meanwhile says how far it is. Gives the recount back if the server stops. */
async function recount(claim: RecountClaim, options: RecountOptions, isStopping: () => boolean): Promise<void> {
  const { database, location, clock } = options
  const allUsers = await countUsers(database, claim.workspaceId)
  const { campaign, workspaceId } = claim
  let countedUsers = 0
  const thread = runRecount({ location, workspaceId, campaign }, (users) => (countedUsers = users))
  const ended = thread.counted.then(
    (counted): Outcome => ({ counted }),
    (error: unknown): Outcome => ({ error }),
  )
  try {
    for (;;) {
      const outcome = await firstOf(ended, PROGRESS_EVERY_MS)
      if (outcome) return await save(claim, outcome, options)
      const progress = { countedUsers, allUsers, now: clock() }
      const claimOn = () => database.write((store) => saveRecountProgress(store, claim, progress))
      if (isStopping() || !(await claimOn())) return await database.write((store) => releaseRecount(store, claim))
    }
  } finally {
    await thread.end()
  }
}

/** Throws what failed, for the diagnostics. */
async function save(claim: RecountClaim, outcome: Outcome, { database, clock }: RecountOptions): Promise<void> {
  if ('counted' in outcome) {
    const { users, result } = outcome.counted
    return database.write((store) => finishRecount(store, claim, { ...result, users, now: clock() }))
  }
  await database.write((store) => failRecount(store, claim, FAILED, clock()))
  throw outcome.error
}

type Outcome = { readonly counted: CountedCampaign } | { readonly error: unknown }

/** Undefined if it takes longer. */
async function firstOf(ended: Promise<Outcome>, waitMs: number): Promise<Outcome | undefined> {
  const waiting = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => waiting.resolve(undefined), waitMs)
  try {
    return await Promise.race([ended, waiting.promise])
  } finally {
    clearTimeout(timer)
  }
}
