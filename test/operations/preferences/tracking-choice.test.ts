// The choice of a person whether opens and clicks may be tracked, through real HTTP, on every store: set by
// Update Preferences (update_preferences), read back by Read preferences (read_preferences), and part of the proofs.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { preferenceCalls, type PreferenceCalls } from '../../support/calls/preference-calls.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

describeEachStore('The choice about tracking (update_preferences)', (kind) => {
  let server: TestServer
  let calls: PreferenceCalls

  beforeAll(async () => {
    server = await startServer(kind)
    calls = preferenceCalls(server)
    await server.changeSettings(server.workspace, { categories: ['news'] })
  })
  afterAll(() => server.stop())

  const make = async (customer: string, email?: string) => {
    await calls.makeUsers([customer], email)
    return customer
  }

  it('may be sent alone, and is read back', async () => {
    const customer_id = await make('c1')
    expect(await calls.readOne(customer_id)).not.toHaveProperty('tracking')
    for (const tracking of [false, true, false]) {
      await calls.set({ customer_id, tracking })
      expect(await calls.readOne(customer_id)).toMatchObject({
        tracking,
        opt_in_status: 'OPT_IN_PENDING',
        categories: {},
      })
    }
  })

  it('stays when other preferences change, and changes no others', async () => {
    const customer_id = await make('c2')
    await calls.set({ customer_id, opt_in_status: 'OPTED_IN', categories: { news: true } })
    await calls.set({ customer_id, tracking: false })
    await calls.set({ customer_id, opt_in_status: 'DOUBLE_OPTED_IN' })
    const expected = { tracking: false, opt_in_status: 'DOUBLE_OPTED_IN', categories: { news: true } }
    expect(await calls.readOne(customer_id)).toMatchObject(expected)
  })

  it('is part of the proofs', async () => {
    const customer_id = await make('c3')
    await calls.set({ customer_id, tracking: false })
    await calls.set({ customer_id, tracking: true, opt_in_status: 'OPTED_IN' })
    const [second, first] = await calls.proofsOf(customer_id)
    expect(first).toMatchObject({ before: { opt_in_status: 'OPT_IN_PENDING' }, after: { tracking: false } })
    expect(first?.before).not.toHaveProperty('tracking')
    expect(second).toMatchObject({ before: { tracking: false }, after: { tracking: true, opt_in_status: 'OPTED_IN' } })
  })

  it('by email_id is that of every user with the address, but not of users who get it later', async () => {
    const email_id = 'shared@example.com'
    await make('d1', email_id)
    await make('d2', email_id)
    await calls.set({ email_id, tracking: false })
    for (const customer of ['d1', 'd2']) expect(await calls.readOne(customer)).toMatchObject({ tracking: false })
    await make('d3', email_id)
    expect(await calls.readOne('d3')).not.toHaveProperty('tracking')
  })

  it.each([null, 'false', 0])('refuses %j', async (tracking) => {
    const sent = { customer_id: 'c1', tracking }
    expectRefusal(await calls.update(sent), 400, 'invalid_request', ['user_preferences.tracking'])
  })
})
