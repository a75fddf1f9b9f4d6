// The job that deletes entries of the audit trail after thirteen months.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { DAY_MS } from '../../src/core/time-zone.ts'
import { forgetOldAuditEntries } from '../../src/jobs/forget-audit-entries.ts'
import { recordChange } from '../../src/actions/audit/record-change.ts'
import { AUDIT_KEPT_MS, listAuditEntries } from '../../src/store/accounts/audit-entries.ts'
import { NOW, openPipelineBench, type PipelineBench } from '../support/pipeline-bench.ts'
import { describeEachStore } from '../support/stores.ts'

describeEachStore('The job that deletes old entries of the audit trail', (kind) => {
  let bench: PipelineBench

  beforeAll(async () => {
    bench = await openPipelineBench(kind)
  })
  afterAll(() => bench.close())

  const record = (id: string, now: number, count = 1) => {
    const by = {
      workspace: { id },
      credential: { kind: 'command', user: 'ada' },
      callerAddress: null,
      requestId: null,
      now,
    } as const
    return bench.database.write(async (store) => {
      for (let after = 1; after <= count; after++) {
        await recordChange(store, by, { kind: 'workspace', id, action: 'change', after })
      }
    })
  }
  const ages = async (id: string) => {
    const page = { filters: {}, before: undefined, max: 10_000 }
    return (await listAuditEntries(bench.database, id, page)).map(({ at }) => NOW - at)
  }
  const forget = (isStopping = () => false) => forgetOldAuditEntries({ ...bench, clock: () => NOW }).run(isStopping)

  it('keeps entries for thirteen months, whichever these are', async () => {
    const [one, other] = [await bench.makeWorkspace(), await bench.makeWorkspace()]
    for (const id of [one, other]) {
      for (const age of [0, AUDIT_KEPT_MS, AUDIT_KEPT_MS + 1]) await record(id, NOW - age)
    }
    await forget()
    expect([await ages(one), await ages(other)]).toEqual([
      [0, AUDIT_KEPT_MS],
      [0, AUDIT_KEPT_MS],
    ])
    const month = Date.UTC(2029, 0, 15) - Date.UTC(2027, 11, 15)
    expect(AUDIT_KEPT_MS).toBeGreaterThanOrEqual(month)
    expect(AUDIT_KEPT_MS).toBeLessThan(month + 2 * DAY_MS)
  })

  it('deletes many in portions, and ends between two when the server stops', async () => {
    const id = await bench.makeWorkspace()
    await record(id, NOW - AUDIT_KEPT_MS - 1, 2_001)
    await record(id, NOW)
    let looks = 0
    await forget(() => ++looks > 3)
    const left = (await ages(id)).length
    expect(left).toBeGreaterThan(1)
    expect(left).toBeLessThan(2_002)
    await forget()
    expect(await ages(id)).toEqual([0])
  })
})
