// People who are merged or erased while their run is frozen, told or claimed: nobody is left out, comes back or holds the run up.
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { LogWriter } from '../../../src/log/event-log.ts'
import { findCouponListsByLabel } from '../../../src/store/coupons/coupon-lists.ts'
import { claimMessages } from '../../../src/store/delivery/message-claims.ts'
import { ERASED_USER } from '../../../src/store/delivery/messages.ts'
import type { Database } from '../../../src/store/store.ts'
import { addUpload, makeList } from '../../support/coupons/coupon-store.ts'
import { openRunBench, type RunBench } from '../../support/delivery/run-bench.ts'
import { overtaken } from '../../support/meddled-store.ts'
import { describeEachStore, describeOnPostgres } from '../../support/stores.ts'

const PEOPLE = ['c1', 'c2', 'c3']

const person = (customer_id: string) => ({ customer_id, attributes: { email: `${customer_id}@example.com` } })

/** Merges c2 into c1. */
const merge = (bench: RunBench) =>
  bench.track(
    { customer_id: 'c1', user_identifiers: { crm: 'x' } },
    { customer_id: 'c2', user_identifiers: { crm: 'x' } },
  )

/** The same database, where `work` is done before each transaction begins. */
function before(database: Database, work: () => Promise<void>): Database {
  return {
    ...database,
    async write(change) {
      await work()
      return database.write(change)
    },
  }
}

const openBench = async (kind: Parameters<typeof openRunBench>[0]) => {
  const bench = await openRunBench(kind)
  await bench.track(...PEOPLE.map(person))
  return bench
}

const customersOf = (messages: readonly { readonly customerId: string }[]) =>
  messages.map(({ customerId }) => customerId)

/** Lets each message take a code of a list; returns how many are held. */
async function holdCodes(bench: RunBench) {
  const { label } = await bench.database.write(async (store) => {
    const list = await makeList(store, bench.workspaceId)
    await addUpload(store, list.number, ['A', 'B', 'C'])
    return list
  })
  const countHeld = async () =>
    (await findCouponListsByLabel(bench.database, bench.workspaceId, [label]))[0]?.heldCoupons
  return { countHeld, options: { couponLabelsOf: () => [label] } }
}

describeEachStore('People who change during a run', (kind) => {
  let bench: RunBench
  beforeEach(async () => {
    bench = await openBench(kind)
  })
  afterEach(() => bench.close())

  it('have the user who stays when they are merged while a slice is frozen', async () => {
    await bench.start({ campaignControlPercent: 100 })
    await bench.freeze(before(bench.database, () => merge(bench)))
    const ids = [await bench.idOf('c1'), await bench.idOf('c1'), await bench.idOf('c3')]
    expect((await bench.messages()).map(({ userId }) => userId)).toEqual(ids)
  })

  it('get their turn after a merge that their messages have missed', async () => {
    await bench.start()
    await bench.freeze()
    await bench.tell()
    const merged = await bench.idOf('c2')
    await merge(bench)
    await bench.database.write(({ query }) =>
      query
        .updateTable('messages')
        .set({ user_id: merged as number })
        .where('customer_id', '=', 'c2')
        .execute(),
    )
    expect(customersOf((await bench.claim()).map(({ message }) => message))).toEqual(['c1', 'c3'])
    expect(await bench.claim()).toMatchObject([
      { message: { customerId: 'c2', userId: await bench.idOf('c1') }, removal: 'user_removed_due_to_duplicate' },
    ])
    expect(await bench.claim()).toEqual([])
  })

  it('stay erased when they are erased while a slice is frozen', async () => {
    await bench.start()
    await bench.freeze(before(bench.database, () => bench.erase('c1')))
    expect(customersOf(await bench.messages())).toEqual(['c2', 'c3'])
    await bench.tell()
    await bench.follow()
    expect(await bench.idOf('c1')).toBeUndefined()
  })

  it('stay erased when they are erased while the log is told of the audience', async () => {
    await bench.start()
    await bench.freeze()
    const append: LogWriter['append'] = async (entry) => {
      await bench.erase('c1')
      return bench.log.append(entry)
    }
    await bench.tell({ append })
    await bench.follow()
    expect(await bench.idOf('c1')).toBeUndefined()
    const { query } = bench.database
    const told = query.selectFrom('memberships').select('customer').where('campaign', '=', bench.campaign)
    const numbers = query.selectFrom('user_identities').select('number').where('value', 'in', ['c2', 'c3'])
    const customers = new Set((await told.execute()).map(({ customer }) => customer))
    expect(customers).toEqual(new Set((await numbers.execute()).map(({ number }) => number)))
  })

  it('are claimed only while their messages wait', async () => {
    await bench.start()
    await bench.freeze()
    const run = (await bench.open()).run.number
    const claim = (claimed: number) =>
      bench.database.write((store) =>
        claimMessages(
          store,
          { run, claim: claimed },
          [1, 2].map((number) => ({ number, emailKey: 'key', claimedAt: 1 })),
        ),
      )
    await bench.database.write(({ query }) =>
      query.updateTable('messages').set({ state: 'sent' }).where('run', '=', run).where('number', '=', 2).execute(),
    )
    expect([await claim(1), await claim(2)]).toEqual([[1], []])
    expect(await bench.messages()).toMatchObject([{ claim: 1 }, { state: 'sent', claim: null }, { claim: null }])
  })
})

describeOnPostgres('People who change during a transaction of a run', () => {
  let bench: RunBench
  beforeEach(async () => {
    bench = await openBench('postgres')
  })
  afterEach(() => bench.close())

  it.each<[what: string, work: (own: RunBench) => Promise<unknown>, customers: string[]]>([
    ['merged', merge, ['c1', 'c2', 'c3']],
    ['erased', (own) => own.erase('c1'), ['c2', 'c3']],
  ])('are in the run as they are afterwards when they are %s after the last look', async (_what, work, customers) => {
    await bench.start({ campaignControlPercent: 100 })
    const freezing = overtaken(bench.database, { transaction: 1, name: 'messages' }, () => work(bench))
    await bench.freeze(freezing.database)
    await freezing.ended()
    const messages = await bench.messages()
    expect(customersOf(messages)).toEqual(customers)
    const ids = await Promise.all(customers.map((customer) => bench.idOf(customer)))
    expect(messages.map(({ userId }) => userId)).toEqual(ids)
  })

  it('keep their message and code when they are erased while it is claimed', async () => {
    await bench.start()
    await bench.freeze()
    await bench.tell()
    const { countHeld, options } = await holdCodes(bench)
    const claiming = overtaken(bench.database, { transaction: 1, name: 'claimed_at' }, () => bench.erase('c1'))
    expect(customersOf((await bench.claim(claiming.database, options)).map(({ message }) => message))).toEqual(PEOPLE)
    await claiming.ended()
    expect(await bench.messages()).toMatchObject([
      { state: 'sending', userId: ERASED_USER, customerId: '', emailKey: '' },
      { state: 'sending', customerId: 'c2' },
      { state: 'sending', customerId: 'c3' },
    ])
    expect(await countHeld()).toBe(3)
  })

  it('are neither claimed nor hold a code when they are being erased', async () => {
    await bench.start()
    await bench.freeze()
    await bench.tell()
    const { countHeld, options } = await holdCodes(bench)
    let claimed: Awaited<ReturnType<RunBench['claim']>> = []
    const erasing = overtaken(bench.database, { transaction: 1, name: 'memberships' }, async () => {
      claimed = await bench.claim(bench.database, options)
    })
    await bench.erase('c1', erasing.database)
    await erasing.ended()
    expect(customersOf(claimed.map(({ message }) => message))).toEqual(['c2', 'c3'])
    expect(customersOf(await bench.messages())).toEqual(['c2', 'c3'])
    expect(await countHeld()).toBe(2)
  })
})
