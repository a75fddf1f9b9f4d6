// The audience of a run is that of the instant at which the run began, whatever becomes of the segments that it names.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { toJsonNumber } from '../../../src/core/json/exact-number.ts'
import type { SegmentCondition } from '../../../src/core/segments/condition.ts'
import { findDelivery, resumeDelivery } from '../../../src/store/delivery/deliveries.ts'
import { findRunOf } from '../../../src/store/delivery/runs.ts'
import { addSegment, findSegment, saveSegment } from '../../../src/store/segments/segments.ts'
import { openRunBench, type RunBench } from '../../support/delivery/run-bench.ts'
import { NOW } from '../../support/pipeline-bench.ts'
import { describeEachStore } from '../../support/stores.ts'

/** 64-bit floating point rounds both to one number. */
const [FIRST, SECOND] = ['1234567890123456788', '1234567890123456789'].map(toJsonNumber)

const hasAccount = (value: unknown): SegmentCondition => ({ attribute: 'account', operator: 'is', value })

describeEachStore('The audience of a run', (kind) => {
  let bench: RunBench
  beforeEach(async () => {
    bench = await openRunBench(kind)
    const person = (customer_id: string, account: unknown) => {
      return { customer_id, attributes: { email: `${customer_id}@example.com`, account } }
    }
    await bench.track(person('c1', FIRST), person('c2', SECOND), person('c3', 3))
  })
  afterEach(() => bench.close())

  const include = (condition: SegmentCondition) =>
    bench.database.write((store) => {
      const { workspaceId } = bench
      const times = { createdAt: NOW, updatedAt: NOW }
      return addSegment(store, { id: 'inner', workspaceId, name: 'Inner', condition, createdBy: 'anna', ...times })
    })
  const change = async (condition: SegmentCondition) => {
    const segment = await findSegment(bench.database, bench.workspaceId, 'inner')
    if (segment) await bench.database.write((store) => saveSegment(store, { ...segment, condition }))
  }
  const customers = async () => (await bench.messages()).map(({ customerId }) => customerId)
  const outer = { audience: { include: [{ any: [{ segment: 'inner' }, hasAccount(3)] }], exclude: [] } }

  it('stays when a segment is changed after the run began, and keeps the digits of its numbers', async () => {
    await include(hasAccount(SECOND))
    await bench.start(outer)
    await change(hasAccount(FIRST))
    await bench.freeze()
    expect(await customers()).toEqual(['c2', 'c3'])
  })

  it('that cannot be decided pauses the campaign, which begins when it is resumed', async () => {
    await bench.start(outer)
    const { campaign, database } = bench
    const paused = { since: NOW, reason: expect.stringContaining('names a segment that does not exist') as string }
    expect(await findDelivery(database, campaign)).toMatchObject({ state: 'running', paused })
    expect(await findRunOf(database, campaign)).toBeUndefined()
    await bench.begin()
    expect(await findRunOf(database, campaign)).toBeUndefined()
    await include(hasAccount(FIRST))
    await database.write((store) => resumeDelivery(store, campaign))
    await bench.begin()
    await bench.freeze()
    expect(await customers()).toEqual(['c1', 'c3'])
  })
})
