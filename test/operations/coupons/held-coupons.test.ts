// Codes that messages have, through real HTTP, on every store: their state, their holders, the counts, and that they stay.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { holdCoupons, issueCoupons, releaseCoupons } from '../../../src/actions/coupons/hold-coupons.ts'
import { couponCallsOf, couponsPath, LISTS_PATH, type CouponCalls } from '../../support/calls/coupon-calls.ts'
import { HOLDING_AT, HOLDING_RUN, makeHolders } from '../../support/coupons/coupon-holders.ts'
import { startServer, until, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

interface CodesBody {
  readonly data: readonly { readonly code: string; readonly state: string; readonly holder: unknown }[]
  readonly next_after: string | null
}

describeEachStore('Codes that messages have (list_coupons, delete_coupons, fetch_coupon_list)', (kind) => {
  let server: TestServer
  let calls: CouponCalls
  let campaignId: string

  beforeAll(async () => {
    server = await startServer(kind)
    calls = couponCallsOf(server)
    campaignId = await makeHolders(server, ['ann', 'bob', 'bob', 'eve'])
  })
  afterAll(() => server.stop())

  /** Makes a list of A to E, of which the messages 1, 2 and 3 hold A, B and C; B and C are issued. */
  async function makeHeld() {
    const id = await calls.make()
    const { upload } = (await calls.addJson(id, ['A', 'B', 'C', 'D', 'E'])).body
    const { number } = await calls.stored(id)
    await server.database.write(async (store) => {
      await holdCoupons(store, {
        run: HOLDING_RUN,
        at: HOLDING_AT,
        wanted: [1, 2, 3].map((message) => ({ message, listNumbers: [number] })),
      })
      await issueCoupons(store, HOLDING_RUN, [2, 3])
    })
    return { id, upload, number }
  }

  const list = async (id: string, query = '') => (await calls.call<CodesBody>('GET', `${couponsPath(id)}${query}`)).body
  const statesOf = ({ data }: CodesBody) => data.map(({ code, state }) => `${code} ${state}`)
  const remove = async (id: string, body: unknown) => (await calls.call('DELETE', couponsPath(id), { body })).body
  const issued = 'was issued to a user'
  const held = 'is held for a message that is being sent'

  it('are not available, and are counted as held or issued', async () => {
    const { id } = await makeHeld()
    const counts = { total_coupons: 5, available_coupons: 2, held_coupons: 1, issued_coupons: 2 }
    expect(await calls.fetch(id)).toMatchObject(counts)
    const lists = (await calls.call<{ data: { _id: string }[] }>('GET', LISTS_PATH)).body.data
    expect(lists.find(({ _id }) => _id === id)).toMatchObject(counts)
    expect(statesOf(await list(id))).toEqual(['A held', 'B issued', 'C issued', 'D available', 'E available'])
  })

  it('are listed with their holders', async () => {
    const { id } = await makeHeld()
    const holderOf = (customer: string, message: number) => {
      const at = '2026-05-04T10:00:00.000Z'
      return { customer_id: customer, campaign_id: campaignId, message_id: `${HOLDING_RUN}-${message}`, at }
    }
    expect((await list(id)).data.map(({ holder }) => holder)).toEqual([
      holderOf('ann', 1),
      holderOf('bob', 2),
      holderOf('bob', 3),
      null,
      null,
    ])
    expect((await list(id, '?customer_id=ann')).data).toMatchObject([{ code: 'A', holder: holderOf('ann', 1) }])
  })

  it('are listed without a holder once the person is erased', async () => {
    const id = await calls.make()
    await calls.addJson(id, ['A'])
    const { number } = await calls.stored(id)
    await server.database.write(async (store) => {
      await holdCoupons(store, { run: HOLDING_RUN, at: HOLDING_AT, wanted: [{ message: 4, listNumbers: [number] }] })
      await issueCoupons(store, HOLDING_RUN, [4])
    })
    const erased = await until('the person is erased', async () => {
      const answer = await server.call('DELETE', `/v1/customer/${server.workspace.id}?customer_id=eve`)
      return answer.status !== 503 && answer
    })
    expect(erased.status).toBe(200)
    const holder = { customer_id: null, campaign_id: campaignId, message_id: `${HOLDING_RUN}-4` }
    expect((await list(id)).data).toMatchObject([{ code: 'A', state: 'issued', holder }])
  })

  it('are listed by the person who has them, in the pages of a list', async () => {
    const { id } = await makeHeld()
    expect(statesOf(await list(id, '?customer_id=bob'))).toEqual(['B issued', 'C issued'])
    const first = await list(id, '?customer_id=bob&limit=1')
    expect([statesOf(first), first.next_after]).toEqual([['B issued'], 'B'])
    const second = await list(id, '?customer_id=bob&limit=1&after=B')
    expect([statesOf(second), second.next_after]).toEqual([['C issued'], null])
    expect(statesOf(await list(id, '?customer_id=bob&search=c'))).toEqual(['C issued'])
    expect(await list(id, '?customer_id=nobody')).toEqual({ data: [], next_after: null })
    const other = await calls.make()
    expect(await list(other, '?customer_id=bob')).toEqual({ data: [], next_after: null })
  })

  it('are not deleted by code, and say why', async () => {
    const { id } = await makeHeld()
    expect(await remove(id, { coupons: ['A', 'B', 'D', 'X'] })).toEqual({
      deleted: 1,
      not_deleted: [
        { code: 'A', problem: held },
        { code: 'B', problem: issued },
        { code: 'X', problem: 'is not in the list' },
      ],
      not_deleted_count: 3,
    })
    expect(await calls.fetch(id)).toMatchObject({ total_coupons: 4, available_coupons: 1 })
  })

  it('are not deleted with their upload', async () => {
    const { id, upload } = await makeHeld()
    const notDeleted = [
      { code: 'A', problem: held },
      { code: 'B', problem: issued },
      { code: 'C', problem: issued },
    ]
    const answer = { deleted: 2, not_deleted: notDeleted, not_deleted_count: 3 }
    expect(await remove(id, { upload })).toEqual(answer)
    expect(await remove(id, { upload })).toEqual({ ...answer, deleted: 0 })
    expect(statesOf(await list(id))).toEqual(['A held', 'B issued', 'C issued'])
  })

  it('are deleted once they are available again', async () => {
    const { id } = await makeHeld()
    await server.database.write((store) => releaseCoupons(store, HOLDING_RUN, [1, 2]))
    expect(statesOf(await list(id))).toContain('A available')
    expect(await remove(id, { coupons: ['A'] })).toMatchObject({ deleted: 1 })
    expect((await list(id, '?customer_id=ann')).data).toEqual([])
  })

  it('stay held in archived lists', async () => {
    const { id } = await makeHeld()
    await calls.call('PUT', `${LISTS_PATH}/${id}/archive`)
    expect(await calls.fetch(id)).toMatchObject({ status: 'ARCHIVED', held_coupons: 1, issued_coupons: 2 })
  })
})
