// Preferences of merged users, and concurrent changes, through HTTP and the running pipeline.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NO_LIMITS, preferenceCalls, type PreferenceCalls } from '../../support/calls/preference-calls.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { trackingOf, type Tracking } from '../../support/calls/tracking.ts'

const CATEGORIES = Array.from({ length: 20 }, (_, index) => `category-${index}`)
const HOUR_MS = 60 * 60 * 1000

describeEachStore('Preferences of merged users (read_preferences, update_preferences)', (kind) => {
  let server: TestServer
  let calls: PreferenceCalls
  let tracking: Tracking
  let made = 0

  beforeAll(async () => {
    server = await startServer(kind)
    calls = preferenceCalls(server)
    tracking = trackingOf(server)
    const limits = { ...NO_LIMITS, update_preferences_per_minute: 1_000_000 }
    const identityResolution = ['svc_mobile', 'svc_card']
    await server.changeSettings(server.workspace, {
      categories: ['news', 'offers', ...CATEGORIES],
      limits,
      identityResolution,
    })
  })
  afterAll(() => server.stop())

  /** Creates two separate users; `unite` merges them. */
  async function makeTwo(): Promise<{ older: string; younger: string; unite: () => Promise<void> }> {
    const number = ++made
    const [older, younger] = [`older-${number}`, `younger-${number}`]
    const user = (customer_id: string, svc_mobile: string) => {
      return { type: 'customer', customer_id, user_identifiers: { svc_mobile } }
    }
    await tracking.apply(user(older, `1-${number}`), user(younger, `2-${number}`))
    return { older, younger, unite: () => tracking.apply(user(older, `2-${number}`)) }
  }

  async function setAt(at: number, userPreferences: object): Promise<void> {
    server.setClock(at)
    await calls.set(userPreferences)
    server.setClock(undefined)
  }

  it('are found by every id of both, with the newest decision on each category and on the status', async () => {
    const { older, younger, unite } = await makeTwo()
    const start = Date.now() - HOUR_MS
    await setAt(start + 1, {
      customer_id: younger,
      opt_in_status: 'OPTED_IN',
      categories: { news: true, offers: true },
    })
    await setAt(start + 2, { customer_id: older, opt_in_status: 'DOUBLE_OPTED_IN', categories: { news: true } })
    await setAt(start + 3, { customer_id: younger, categories: { news: false } })
    await unite()
    const merged = { opt_in_status: 'DOUBLE_OPTED_IN', categories: { news: false, offers: true } }
    for (const customerId of [older, younger]) {
      expect(await calls.readOne(customerId)).toMatchObject({ customer_id: older, ...merged })
    }
  })

  it('have the proofs of both users, and one for the change by the merge', async () => {
    const { older, younger, unite } = await makeTwo()
    const start = Date.now() - HOUR_MS
    await setAt(start + 1, { customer_id: older, opt_in_status: 'OPTED_IN' })
    await setAt(start + 2, { customer_id: younger, categories: { news: true } })
    await setAt(start + 3, { customer_id: older, categories: { offers: true } })
    await setAt(start + 3, { customer_id: younger, opt_in_status: 'OPTED_OUT' })
    const before = await calls.readOne(older)
    await unite()
    await calls.set({ customer_id: younger, opt_in_status: 'OPTED_IN' })
    const proofs = await calls.proofsOf(younger)
    expect(await calls.proofsOf(older)).toEqual(proofs)
    expect(proofs.map(({ by }) => by)).toEqual(['key:data', 'merge', 'key:data', 'key:data', 'key:data', 'key:data'])
    const { opt_in_status, categories } = before
    expect(proofs[1]).toMatchObject({
      ip: null,
      before: { opt_in_status, categories },
      after: { opt_in_status: 'OPTED_OUT', categories: { news: true, offers: true } },
    })
    expect(proofs[0]?.before).toEqual(proofs[1]?.after)
    expect(proofs.map(({ at }) => Date.parse(at)).toSorted((left, right) => right - left)).toEqual(
      proofs.map(({ at }) => Date.parse(at)),
    )
  })

  it('have the proof of the merge after those of both users and before the next change, even at the same time', async () => {
    const { older, younger, unite } = await makeTwo()
    // Later changes must not get an earlier time when the clock goes back.
    server.setClock(Date.now() + HOUR_MS)
    for (const opt_in_status of ['OPTED_IN', 'OPT_IN_PENDING', 'OPTED_OUT']) {
      await calls.set({ customer_id: younger, opt_in_status })
    }
    server.setClock(undefined)
    await unite()
    await calls.set({ customer_id: older, opt_in_status: 'DOUBLE_OPTED_IN' })
    const proofs = await calls.proofsOf(older)
    expect(new Set(proofs.map(({ at }) => at)).size).toBe(1)
    const after = ['DOUBLE_OPTED_IN', 'OPTED_OUT', 'OPTED_OUT', 'OPT_IN_PENDING', 'OPTED_IN']
    expect(proofs.map(({ after }) => after.opt_in_status)).toEqual(after)
    expect(proofs.map(({ by }) => by)).toEqual(['key:data', 'merge', 'key:data', 'key:data', 'key:data'])
  })

  it('have pages of proofs that neither overlap nor skip', async () => {
    const { older, younger, unite } = await makeTwo()
    server.setClock(Date.now() - HOUR_MS)
    for (const customer_id of [older, younger, younger, older, younger]) {
      await calls.set({ customer_id, opt_in_status: 'OPTED_IN' })
    }
    server.setClock(undefined)
    await unite()
    const all = await calls.proofsOf(older)
    expect(all).toHaveLength(5)
    const paged = []
    let before: string | undefined
    do {
      const query = { customer_id: older, limit: '1', ...(before !== undefined && { before }) }
      const { body } = await calls.history(query)
      expect(body.data).toHaveLength(1)
      paged.push(...body.data)
      before = body.next_before
    } while (before !== undefined)
    expect(paged).toEqual(all)
  })

  it('are those of the younger user if the older had none', async () => {
    const { older, younger, unite } = await makeTwo()
    await calls.set({ customer_id: younger, categories: { news: true } })
    await unite()
    expect(await calls.readOne(older)).toMatchObject({ customer_id: older, categories: { news: true } })
    expect(await calls.proofsOf(older)).toMatchObject([{ by: 'merge' }, { by: 'key:data' }])
  })

  it('have no proof of a merge that changed nothing', async () => {
    const { older, younger, unite } = await makeTwo()
    await calls.set({ customer_id: older, opt_in_status: 'OPTED_IN' })
    await unite()
    expect(await calls.proofsOf(younger)).toMatchObject([{ by: 'key:data' }])
    expect((await calls.readOne(younger)).opt_in_status).toBe('OPTED_IN')
  })

  it('survive several merges in one request', async () => {
    const one = await makeTwo()
    const two = await makeTwo()
    await calls.set({ customer_id: one.younger, categories: { news: true } })
    await calls.set({ customer_id: two.older, categories: { offers: true } })
    await calls.set({ customer_id: two.younger, categories: { 'category-1': true } })
    await two.unite()
    const both = { svc_mobile: `2-${made - 1}`, svc_card: `card-${made}` }
    await tracking.apply(
      { type: 'customer', customer_id: two.younger, user_identifiers: { svc_card: `card-${made}` } },
      { type: 'customer', customer_id: one.older, user_identifiers: both },
    )
    for (const customerId of [one.older, one.younger, two.older, two.younger]) {
      expect(await calls.readOne(customerId)).toMatchObject({
        customer_id: one.older,
        categories: { news: true, offers: true, 'category-1': true },
      })
      expect(await calls.proofsOf(customerId)).toHaveLength(6)
    }
  })

  it('keep both of two concurrent changes of one user', async () => {
    const { older } = await makeTwo()
    await Promise.all(CATEGORIES.map((name) => calls.set({ customer_id: older, categories: { [name]: true } })))
    const everything = Object.fromEntries(CATEGORIES.map((name) => [name, true]))
    expect((await calls.readOne(older)).categories).toEqual(everything)
    const proofs = await calls.proofsOf(older)
    expect(proofs).toHaveLength(CATEGORIES.length)
    // Each change starts from the result of the previous one.
    proofs.slice(1).forEach((proof, index) => expect(proofs[index]?.before).toEqual(proof.after))
  })

  it('keep a change that is concurrent with a merge', { timeout: 60_000 }, async () => {
    for (let round = 0; round < 10; round++) {
      const { older, younger, unite } = await makeTwo()
      const changes = CATEGORIES.map((name, index) => {
        return calls.set({ customer_id: index % 2 === 0 ? older : younger, categories: { [name]: true } })
      })
      await Promise.all([unite(), ...changes])
      const everything = Object.fromEntries(CATEGORIES.map((name) => [name, true]))
      expect((await calls.readOne(younger)).categories).toEqual(everything)
      const proofs = await calls.proofsOf(older)
      expect(proofs.filter(({ by }) => by === 'key:data')).toHaveLength(CATEGORIES.length)
      expect(proofs[0]?.after.categories).toEqual(everything)
    }
  })

  it('are not found by an address that only the merged user had', async () => {
    const { older, younger, unite } = await makeTwo()
    await calls.makeUsers([older], `old-${made}@example.com`)
    await calls.makeUsers([younger], `new-${made}@example.com`)
    await unite()
    expectRefusal(await calls.read({ email_id: `old-${made}@example.com` }), 404, 'not_found')
    const { body } = await calls.read({ email_id: `new-${made}@example.com` })
    expect(body.data.map(({ customer_id }) => customer_id)).toEqual([older])
  })
})
