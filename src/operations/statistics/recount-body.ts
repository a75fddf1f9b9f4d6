// A recount on the wire: how far it is, or what it found.
import { Type, type Static } from 'typebox'
import { toCalendarDate } from '../../core/time-zone.ts'
import { toIso } from '../../core/time-value.ts'
import type { Recount, RecountDifference } from '../../store/statistics/recounts.ts'
import { IsoTime, Nullable, OneOf } from '../fields.ts'

const RECOUNT_STATES = ['waiting', 'running', 'finished', 'failed'] as const

const Counts = Type.Object({ users: Type.Integer(), occurrences: Type.Integer() })

export const RecountOutput = Type.Object({
  campaign_id: Type.String(),
  recount: Nullable(
    Type.Object(
      {
        state: OneOf(RECOUNT_STATES),
        requested_at: IsoTime,
        requested_by: Type.String({ description: 'Who asked: `key:reports`, or `person:` and their address.' }),
        started_at: Nullable(IsoTime),
        finished_at: Nullable(IsoTime),
        counted_users: Type.Integer({ description: 'Users whose facts are counted so far.' }),
        all_users: Type.Integer({ description: 'Users of the workspace; 0 until the recount begins.' }),
        compared_numbers: Type.Integer({ description: 'Stored numbers that were compared.' }),
        differing_numbers: Type.Integer({ description: 'Of these, those that differ from the facts.' }),
        differences: Type.Array(
          Type.Object({
            metric: Type.String({ description: 'What is counted, such as `sent` or `met:Purchase`.' }),
            group: Type.String({ description: '`target`, a control group, or empty for everybody.' }),
            platform: Type.String(),
            locale: Type.String(),
            variation: Type.String(),
            date: Type.String({ format: 'date' }),
            stored: Counts,
            counted: Counts,
          }),
          { description: 'The first ten numbers that differ: as stored, and as counted from the facts.' },
        ),
        problem: Nullable(Type.String({ description: 'Why it failed.' })),
      },
      { description: 'Null if the numbers of the campaign were never checked.' },
    ),
  ),
})

export function toRecountOutput(
  campaignId: string,
  recount: Recount | undefined,
  now: number,
): Static<typeof RecountOutput> {
  return { campaign_id: campaignId, recount: recount ? toBody(recount, now) : null }
}

function toBody(recount: Recount, now: number) {
  return {
    state: stateOf(recount, now),
    requested_at: toIso(recount.requestedAt),
    requested_by: recount.requestedBy,
    started_at: recount.startedAt === null ? null : toIso(recount.startedAt),
    finished_at: recount.finishedAt === null ? null : toIso(recount.finishedAt),
    counted_users: recount.countedUsers,
    all_users: recount.allUsers,
    compared_numbers: recount.comparedCells,
    differing_numbers: recount.differingCells,
    differences: recount.differences.map(toDifference),
    problem: recount.problem,
  }
}

function stateOf({ finishedAt, claimedUntil, problem }: Recount, now: number): (typeof RECOUNT_STATES)[number] {
  if (finishedAt !== null) return problem === null ? 'finished' : 'failed'
  return claimedUntil > now ? 'running' : 'waiting'
}

function toDifference({ day, platform, locale, variation, ...rest }: RecountDifference) {
  return {
    ...rest,
    platform: platform || 'all_platforms',
    locale: locale || 'all_locales',
    variation: variation || 'all_variations',
    date: toCalendarDate(day),
  }
}
