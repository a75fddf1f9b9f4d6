// Checks that coupon codes of the first version keep their ids, stay unique, and can be listed.
import { expect, it } from 'vitest'
import { holdCoupons } from '../../../src/actions/coupons/hold-coupons.ts'
import { findUploadsOfCodes } from '../../../src/store/coupons/completed-uploads.ts'
import { addCodes, listCodes } from '../../../src/store/coupons/coupons.ts'
import { migrate, MIGRATIONS } from '../../../src/store/migrations.ts'
import { openDatabase } from '../../../src/store/open-database.ts'
import { describeEachStore, makeLocation } from '../../support/stores.ts'

describeEachStore('The migration of coupon codes', (kind) => {
  it('keeps the codes of the first version, which belong to no recorded upload', async () => {
    const location = await makeLocation(kind)
    const database = openDatabase(location)
    const firstVersion = Object.fromEntries(Object.entries(MIGRATIONS).slice(0, 1))
    await migrate(database, 1, undefined, firstVersion)
    const rows = ['b', 'A', 'a'].map((code, index) => ({ id: index + 5, list_number: 1, code }))
    await database.write(({ query }) => query.insertInto('coupons').values(rows).execute())
    await migrate(database, 2)
    expect(await database.write((store) => addCodes(store, 1, 10, ['A', 'B']))).toBe(1)
    const codes = await listCodes(database, 1, { after: undefined, prefix: '', max: 10 })
    const uploads = await findUploadsOfCodes(database, 1, [5])
    await database.close()
    await location.remove()
    expect(codes.map(({ id, code }) => [id, code])).toEqual([
      [6, 'A'],
      [7, 'a'],
      [11, 'B'],
      [5, 'b'],
    ])
    expect(uploads.size).toBe(0)
  })

  it('makes complete codes of the first version available to messages', async () => {
    const location = await makeLocation(kind)
    const database = openDatabase(location)
    const firstVersion = Object.fromEntries(Object.entries(MIGRATIONS).slice(0, 1))
    await migrate(database, 1, undefined, firstVersion)
    const rows = ['b', 'A', 'a'].map((code, index) => ({ id: index + 5, list_number: 1, code }))
    const names = { number: 1, id: 'list', workspace_id: 'main', name: 'Summer', label: 'summer', created_by: 'anna' }
    const settings = {
      expires_at: '2199-12-31',
      archived_at: null,
      email_alert_subscribers: '[]',
      alert_conditions: '{}',
    }
    const counts = { total_coupons: 2, available_coupons: 2, last_coupon_id: 6, created_at: 1, updated_at: 1 }
    await database.write(async ({ query }) => {
      await query.insertInto('coupons').values(rows).execute()
      // The first version has no other columns.
      await query
        .insertInto('coupon_lists')
        .values({ ...names, ...settings, ...counts } as never)
        .execute()
    })
    await migrate(database, 2)
    const wanted = [1, 2, 3].map((message) => ({ message, listNumbers: [1] }))
    const codes = await database.write((store) => holdCoupons(store, { run: 1, at: 1, wanted }))
    await database.close()
    await location.remove()
    expect([...codes.values()].map((own) => own?.get(1))).toEqual(['b', 'A', undefined])
  })
})
