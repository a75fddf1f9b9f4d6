// Opted-out addresses through HTTP and the running pipeline: users who get such an address later are opted out too.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NO_LIMITS, preferenceCalls, type PreferenceCalls } from '../../support/calls/preference-calls.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { trackingOf, type Tracking } from '../../support/calls/tracking.ts'

const HOUR_MS = 60 * 60 * 1000
const PII_KEY = Buffer.alloc(32, 7).toString('base64')

describeEachStore('An address that is opted out by email_id (update_preferences)', (kind) => {
  let server: TestServer
  let calls: PreferenceCalls
  let tracking: Tracking
  let made = 0

  beforeAll(async () => {
    server = await startServer(kind, { PII_KEY })
    calls = preferenceCalls(server)
    tracking = trackingOf(server)
    const settings = { limits: NO_LIMITS, identityResolution: ['crm'], categories: ['news', 'offers'] }
    await server.changeSettings(server.workspace, settings)
  })
  afterAll(() => server.stop())

  /** A user with an address of its own, and the id of another user. */
  async function makeAddress(of = calls) {
    const number = ++made
    const [email, owner, later] = [`Anna-${number}@example.com`, `owner-${number}`, `later-${number}`] as const
    await of.makeUsers([owner], email)
    return { email, owner, later }
  }

  async function setAt(at: number, userPreferences: object): Promise<void> {
    server.setClock(at)
    await calls.set(userPreferences)
    server.setClock(undefined)
  }

  it('stays opted out for a user who gets it later, with a proof', async () => {
    const { email, later } = await makeAddress()
    await calls.set({ email_id: email, opt_in_status: 'OPTED_OUT' })
    await calls.makeUsers([later], email.toLowerCase())
    expect(await calls.readOne(later)).toMatchObject({ opt_in_status: 'OPTED_OUT', categories: {} })
    const nothing = { opt_in_status: 'OPT_IN_PENDING', categories: {} }
    const after = { opt_in_status: 'OPTED_OUT', categories: {} }
    expect(await calls.proofsOf(later)).toMatchObject([{ by: 'address', ip: null, before: nothing, after }])
  })

  it('gives refused categories to a user who gets it later, and leaves the others', async () => {
    const { email, later } = await makeAddress()
    await calls.makeUsers([later])
    await calls.set({ customer_id: later, opt_in_status: 'OPTED_IN', categories: { news: true, offers: true } })
    await calls.set({ email_id: email, categories: { news: false } })
    await calls.makeUsers([later], email)
    const expected = { opt_in_status: 'OPTED_IN', categories: { news: false, offers: true } }
    expect(await calls.readOne(later)).toMatchObject(expected)
  })

  it('is no longer opted out after an opt-in by email_id', async () => {
    const { email, later } = await makeAddress()
    await calls.set({ email_id: email, opt_in_status: 'OPTED_OUT', categories: { news: false } })
    await calls.set({ email_id: email, opt_in_status: 'OPTED_IN', categories: { news: true } })
    await calls.makeUsers([later], email)
    expect(await calls.readOne(later)).toMatchObject({ opt_in_status: 'OPT_IN_PENDING', categories: {} })
    expect(await calls.proofsOf(later)).toEqual([])
  })

  it('is not opted out by a request that names a user by customer_id', async () => {
    const { email, owner, later } = await makeAddress()
    await calls.set({ customer_id: owner, opt_in_status: 'OPTED_OUT' })
    await calls.makeUsers([later], email)
    expect(await calls.readOne(later)).toMatchObject({ opt_in_status: 'OPT_IN_PENDING' })
  })

  it.each([
    ['opted in after that stays opted in', 2, 'OPTED_IN'],
    ['opted in before that is opted out', 0, 'OPTED_OUT'],
  ])('leaves the newest decision: a user who %s', async (_what, hours, status) => {
    const { email, later } = await makeAddress()
    const start = Date.now() - 3 * HOUR_MS
    await calls.makeUsers([later])
    await setAt(start + hours * HOUR_MS, { customer_id: later, opt_in_status: 'OPTED_IN' })
    await setAt(start + HOUR_MS, { email_id: email, opt_in_status: 'OPTED_OUT' })
    await calls.makeUsers([later], email)
    expect(await calls.readOne(later)).toMatchObject({ opt_in_status: status })
  })

  it('does not opt a user out again who opted in and sends the same address once more', async () => {
    const { email, later } = await makeAddress()
    await calls.set({ email_id: email, opt_in_status: 'OPTED_OUT' })
    await calls.makeUsers([later], email)
    await calls.set({ customer_id: later, opt_in_status: 'OPTED_IN' })
    await calls.makeUsers([later], email)
    expect(await calls.readOne(later)).toMatchObject({ opt_in_status: 'OPTED_IN' })
  })

  it('opts out a user who is merged with one who got it', async () => {
    const { email, later } = await makeAddress()
    await calls.set({ email_id: email, opt_in_status: 'OPTED_OUT' })
    const older = `${later}-older`
    await tracking.apply({ type: 'customer', customer_id: older })
    await calls.makeUsers([later], email)
    await tracking.apply({ type: 'customer', customer_id: later, user_identifiers: { crm: later } })
    await tracking.apply({ type: 'customer', customer_id: older, user_identifiers: { crm: later } })
    expect(await calls.readOne(later)).toMatchObject({ customer_id: older, opt_in_status: 'OPTED_OUT' })
  })

  it('is not stored if no user has it: 404', async () => {
    const email = `nobody-${++made}@example.com`
    expectRefusal(await calls.update({ email_id: email, opt_in_status: 'OPTED_OUT' }), 404, 'not_found')
    await calls.makeUsers([`later-${made}`], email)
    expect(await calls.readOne(`later-${made}`)).toMatchObject({ opt_in_status: 'OPT_IN_PENDING' })
  })

  it('is found by its keyed hash where emails are encrypted', async () => {
    const workspace = await server.makeWorkspace({ emailProtection: 'encrypted' })
    const own = preferenceCalls(server, workspace)
    const { email, later } = await makeAddress(own)
    await own.set({ email_id: email, opt_in_status: 'OPTED_OUT' })
    await own.makeUsers([later], email)
    expect(await own.readOne(later)).toMatchObject({ opt_in_status: 'OPTED_OUT' })
    const stored = await server.database.query.selectFrom('address_opt_outs').select('email_key').execute()
    expect(JSON.stringify(stored)).not.toContain(email.toLowerCase())
  })

  it('is not opted out in another workspace', async () => {
    const other = preferenceCalls(server, await server.makeWorkspace())
    const { email, later } = await makeAddress()
    await calls.set({ email_id: email, opt_in_status: 'OPTED_OUT' })
    await other.makeUsers([later], email)
    expect(await other.readOne(later)).toMatchObject({ opt_in_status: 'OPT_IN_PENDING' })
  })
})
