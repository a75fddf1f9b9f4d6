// Checks the tables of suppressions and soft bounces: which reason stays, how pages go on, and when soft bounces suppress an address.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Suppression, SuppressionReason } from '../../../src/core/delivery/suppression.ts'
import { recordSoftBounces, removeSoftBounces } from '../../../src/store/senders/soft-bounces.ts'
import {
  addSuppressions,
  findSuppressions,
  listSuppressionPage,
  listSuppressionsAfter,
  deleteSuppression,
  type SuppressionKey,
} from '../../../src/store/senders/suppressions.ts'
import type { Database } from '../../../src/store/store.ts'
import { addMessage, addRun } from '../../support/sent-messages.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const NOW = Date.UTC(2026, 4, 4)

describeEachStore('Suppressions', (kind) => {
  let location: TestLocation
  let database: Database

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
  })

  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  const add = (...rows: Suppression[]) => database.write((store) => addSuppressions(store, rows))
  const reasonOf = async (emailKey: string) => {
    return (await findSuppressions(database, 'main', [emailKey])).get(emailKey)?.reason
  }

  describe('a second reason', () => {
    const cases: [SuppressionReason, SuppressionReason, SuppressionReason][] = [
      ['soft_bounce', 'manual', 'manual'],
      ['soft_bounce', 'hard_bounce', 'hard_bounce'],
      ['manual', 'soft_bounce', 'manual'],
      ['manual', 'hard_bounce', 'hard_bounce'],
      ['hard_bounce', 'manual', 'hard_bounce'],
      ['hard_bounce', 'complaint', 'complaint'],
      ['complaint', 'hard_bounce', 'complaint'],
    ]
    it.each(cases)('after %s, %s leaves %s', async (first, second, stays) => {
      const emailKey = `${first}.${second}@example.com`
      expect(await add(suppression(emailKey, first))).toEqual([emailKey])
      expect(await add(suppression(emailKey, second))).toEqual(stays === first ? [] : [emailKey])
      expect(await reasonOf(emailKey)).toBe(stays)
    })

    it('that is equal leaves the first time and evidence, and keeps an address that only the first had', async () => {
      const first = { ...suppression('equal@example.com', 'manual'), evidence: 'first' }
      await add(first)
      await add({ ...first, since: NOW + 1, evidence: 'second' })
      expect((await findSuppressions(database, 'main', [first.emailKey])).get(first.emailKey)).toEqual(first)
      await add({ ...first, reason: 'complaint', email: null })
      expect((await findSuppressions(database, 'main', [first.emailKey])).get(first.emailKey)?.email).toBe(first.email)
    })

    it('in the same call leaves the stronger', async () => {
      const emailKey = 'twice@example.com'
      await add(suppression(emailKey, 'soft_bounce'), suppression(emailKey, 'complaint'))
      expect(await reasonOf(emailKey)).toBe('complaint')
    })
  })

  it('belong to one workspace, and can be removed once', async () => {
    const emailKey = 'removed@example.com'
    await add(suppression(emailKey, 'manual'), { ...suppression(emailKey, 'manual'), workspaceId: 'other' })
    const remove = () => database.write((store) => deleteSuppression(store, 'main', emailKey))
    expect([await remove(), await remove()]).toEqual([true, false])
    expect((await findSuppressions(database, 'other', [emailKey])).size).toBe(1)
  })

  it('are listed newest first in pages that neither overlap nor skip, and by key for exports', async () => {
    const rows = Array.from({ length: 7 }, (_, index) => ({
      ...suppression(`page-${index}@example.com`, index % 2 ? 'manual' : 'complaint'),
      workspaceId: 'pages',
      since: NOW + Math.floor(index / 3),
    }))
    await add(...rows)
    const listed: Suppression[] = []
    for (let before: SuppressionKey | undefined; ; before = listed.at(-1)) {
      const page = await listSuppressionPage(database, 'pages', { before, max: 2 })
      if (page.length === 0) break
      listed.push(...page)
    }
    expect(listed).toEqual(rows.toReversed())
    const some = await listSuppressionPage(database, 'pages', { reason: 'manual', before: undefined, max: 10 })
    expect(some.map(({ reason }) => reason)).toEqual(['manual', 'manual', 'manual'])
    const exported = await listSuppressionsAfter(database, 'pages', { after: 'page-3@example.com', max: 2 })
    expect(exported.map(({ emailKey }) => emailKey)).toEqual(['page-4@example.com', 'page-5@example.com'])
  })

  describe('soft bounces', () => {
    /** The states of an address's messages in the runs 1, 2, …, and the days of its soft bounces by run. */
    interface Case {
      readonly name: string
      readonly states: readonly string[]
      readonly bounces: readonly [run: number, day: number][]
      readonly suppresses: boolean
    }
    const sent = (count: number) => Array.from({ length: count }, () => 'sent')
    const cases: Case[] = [
      { name: 'five in five runs', states: sent(5), bounces: daily([1, 2, 3, 4, 5]), suppresses: true },
      { name: 'four in four runs', states: sent(4), bounces: daily([1, 2, 3, 4]), suppresses: false },
      {
        name: 'five with an accepted message between',
        states: sent(6),
        bounces: daily([1, 2, 3, 5, 6]),
        suppresses: false,
      },
      { name: 'the last five of six runs', states: sent(6), bounces: daily([2, 3, 4, 5, 6]), suppresses: true },
      {
        name: 'five around a run that removed the person',
        states: ['sent', 'sent', 'removed', 'sent', 'sent', 'sent'],
        bounces: daily([1, 2, 4, 5, 6]),
        suppresses: true,
      },
      {
        name: 'five within more than 90 days',
        states: sent(5),
        bounces: [
          [1, 1],
          [2, 2],
          [3, 3],
          [4, 4],
          [5, 92],
        ],
        suppresses: false,
      },
      { name: 'one run reported five times', states: sent(1), bounces: daily([1, 1, 1, 1, 1]), suppresses: false },
    ]
    it.each(cases)('$name: suppresses is $suppresses', async ({ name, states, bounces, suppresses }) => {
      const [workspaceId, emailKey] = [name, `${name.replaceAll(' ', '-')}@example.com`]
      const firstRun = cases.findIndex((one) => one.name === name) * 100
      const suppressed = await database.write(async (store) => {
        for (const [index, state] of states.entries()) {
          const run = firstRun + index + 1
          await addRun(store, { number: run, campaign: run, workspaceId, at: NOW })
          const sentAt = state === 'removed' ? undefined : NOW
          await addMessage(store, { run, number: 1, customerId: 'c', emailKey, state, sentAt })
        }
        const found: string[] = []
        for (const [run, day] of bounces) {
          const bounce = { emailKey, email: emailKey, run: firstRun + run, at: NOW + day * DAY_MS, evidence: 'full' }
          found.push(...(await recordSoftBounces(store, workspaceId, [bounce])))
        }
        return found
      })
      expect(suppressed).toEqual(suppresses ? [emailKey] : [])
      expect((await findSuppressions(database, workspaceId, [emailKey])).get(emailKey)?.reason).toBe(
        suppresses ? 'soft_bounce' : undefined,
      )
    })

    it('begin again when they are removed', async () => {
      const [workspaceId, emailKey] = ['again', 'again@example.com']
      const record = (run: number) => {
        const bounce = { emailKey, email: null, run: 9000 + run, at: NOW, evidence: null }
        return database.write((store) => recordSoftBounces(store, workspaceId, [bounce]))
      }
      for (const run of [1, 2, 3, 4]) expect(await record(run)).toEqual([])
      await database.write((store) => removeSoftBounces(store, workspaceId, emailKey))
      expect(await record(5)).toEqual([])
    })
  })
})

function suppression(emailKey: string, reason: SuppressionReason): Suppression {
  return { workspaceId: 'main', emailKey, email: emailKey, reason, since: NOW, evidence: null }
}

/** One soft bounce a day. */
function daily(runs: readonly number[]): [number, number][] {
  return runs.map((run, day) => [run, day])
}
