// Update User Email Opt-in Preferences through real HTTP, on every store: one case per rule of the document and its decisions
// ("Email opt-in").
import { afterAll, beforeAll, expect, it } from 'vitest'
import { DEFAULT_SETTINGS, LIMIT_DEFAULTS } from '../../../src/core/workspace.ts'
import { normalizeEmail } from '../../../src/core/users/email-address.ts'
import { USERS_PER_EMAIL_MAX } from '../../../src/operations/preferences/update-preferences.ts'
import { saveIdentities } from '../../../src/store/users/user-identities.ts'
import { saveUsers, type User } from '../../../src/store/users/users.ts'
import { saveSettings } from '../../../src/store/workspaces/workspaces.ts'
import {
  NO_LIMITS,
  PREFERENCES_PATH,
  preferenceCalls,
  type PreferenceCalls,
} from '../../support/calls/preference-calls.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { trackingOf } from '../../support/calls/tracking.ts'

const NOTHING_SET = { opt_in_status: 'OPT_IN_PENDING', categories: {}, updated_at: null }

describeEachStore('Update User Email Opt-in Preferences (update_preferences)', (kind) => {
  let server: TestServer
  let calls: PreferenceCalls

  beforeAll(async () => {
    server = await startServer(kind)
    calls = preferenceCalls(server)
    const limits = { ...NO_LIMITS, update_preferences_per_minute: 1_000_000 }
    await server.changeSettings(server.workspace, { categories: ['news', 'offers', 'events'], limits })
    await calls.makeUsers(['c1'], 'c1@example.com')
  })
  afterAll(() => server.stop())

  it('answers 200 with only a success message', async () => {
    const answer = await calls.update({ customer_id: 'c1', opt_in_status: 'OPTED_IN' })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ message: expect.stringContaining('processed successfully') as string })
  })

  it('is visible at once', async () => {
    for (const status of ['OPTED_OUT', 'OPTED_IN', 'OPTED_OUT']) {
      await calls.set({ customer_id: 'c1', opt_in_status: status })
      expect((await calls.readOne('c1')).opt_in_status).toBe(status)
    }
  })

  it.each(['OPTED_IN', 'DOUBLE_OPTED_IN', 'OPTED_OUT', 'OPT_IN_PENDING'])('reads %s without case', async (status) => {
    for (const sent of [status, status.toLowerCase(), `${status.slice(0, 3)}${status.slice(3).toLowerCase()}`]) {
      await calls.set({ customer_id: 'c1', opt_in_status: status === 'OPTED_OUT' ? 'OPTED_IN' : 'OPTED_OUT' })
      await calls.set({ customer_id: 'c1', opt_in_status: sent })
      expect((await calls.readOne('c1')).opt_in_status).toBe(status)
    }
  })

  it.each(['email', 'EMAIL', 'Email', undefined])('accepts the channel %s', async (channel) => {
    expect((await calls.update({ customer_id: 'c1', opt_in_status: 'OPTED_IN', channel })).status).toBe(200)
  })

  const id = { customer_id: 'c1' }
  const status = { opt_in_status: 'OPTED_IN' }
  const refusals: [rule: string, userPreferences: unknown, fields: string[]][] = [
    ['neither customer_id nor email_id', status, ['user_preferences.customer_id', 'user_preferences.email_id']],
    [
      'neither opt_in_status nor categories',
      { ...id, channel: 'email' },
      ['user_preferences.categories', 'user_preferences.opt_in_status'],
    ],
    ['user_preferences that are not an object', 'c1', ['user_preferences']],
    ['user_preferences that are missing', undefined, ['user_preferences']],
    ['an unknown field', { ...id, ...status, catgories: { news: false } }, ['user_preferences.catgories']],
    ['an unknown status', { ...id, opt_in_status: 'SUBSCRIBED' }, ['user_preferences.opt_in_status']],
    ['an empty status', { ...id, opt_in_status: '' }, ['user_preferences.opt_in_status']],
    ['a status that is null', { ...id, opt_in_status: null }, ['user_preferences.opt_in_status']],
    ['another channel', { ...id, ...status, channel: 'sms' }, ['user_preferences.channel']],
    ['an empty customer_id', { customer_id: '', ...status }, ['user_preferences.customer_id']],
    ['a customer_id that is a number', { customer_id: 1, ...status }, ['user_preferences.customer_id']],
    ['a customer_id of 257 characters', { customer_id: 'x'.repeat(257), ...status }, ['user_preferences.customer_id']],
    ['a malformed email_id', { email_id: 'c1', ...status }, ['user_preferences.email_id']],
    [
      'a malformed email_id beside an existing customer_id',
      { ...id, email_id: '@', ...status },
      ['user_preferences.email_id'],
    ],
    ['an empty email_id', { email_id: '', ...status }, ['user_preferences.email_id']],
    ['categories that are a list', { ...id, categories: ['news'] }, ['user_preferences.categories']],
    ['categories that are null', { ...id, categories: null }, ['user_preferences.categories']],
    ['a value that is a string', { ...id, categories: { news: 'true' } }, ['user_preferences.categories.news']],
    ['a value that is null', { ...id, categories: { news: null } }, ['user_preferences.categories.news']],
    [
      'every category that is not configured',
      { ...id, categories: { news: true, News: true, sport: false } },
      ['user_preferences.categories.News', 'user_preferences.categories.sport'],
    ],
    [
      'every fault at once',
      { email_id: 'x', opt_in_status: 'x', channel: 'x', categories: { x: 1 }, x: 1 },
      ['categories.x', 'channel', 'email_id', 'opt_in_status', 'x'].map((field) => `user_preferences.${field}`),
    ],
  ]
  it.each(refusals)('refuses %s', async (_rule, userPreferences, fields) => {
    expectRefusal(await calls.update(userPreferences), 400, 'invalid_request', fields)
  })

  it('refuses an unknown field beside user_preferences', async () => {
    const body = { user_preferences: { ...id, ...status }, customer_id: 'c1' }
    expectRefusal(await server.call('PUT', PREFERENCES_PATH, { body }), 400, 'invalid_request', ['customer_id'])
  })

  it('changes nothing if one category is not configured', async () => {
    await calls.makeUsers(['unchanged'])
    const sent = { customer_id: 'unchanged', opt_in_status: 'OPTED_IN', categories: { news: true, sport: true } }
    expectRefusal(await calls.update(sent), 400, 'invalid_request', ['user_preferences.categories.sport'])
    expect(await calls.readOne('unchanged')).toEqual({ customer_id: 'unchanged', ...NOTHING_SET })
    expect(await calls.proofsOf('unchanged')).toEqual([])
  })

  it('uses the current categories, even those that another process has just added', async () => {
    const workspace = await server.makeWorkspace()
    const all = { ...DEFAULT_SETTINGS, name: workspace.id, categories: ['news', 'late'] }
    await server.changeSettings(workspace, all)
    const here = preferenceCalls(server, workspace)
    await here.makeUsers(['c1'])
    await here.set({ customer_id: 'c1', opt_in_status: 'OPTED_IN', categories: { late: true } })
    await server.changeSettings(workspace, { ...all, categories: ['news'] })
    expect((await here.readOne('c1')).categories).toEqual({})
    await server.database.write((store) => saveSettings(store, workspace.id, all))
    await here.set({ customer_id: 'c1', categories: { news: false } })
    expect(await here.readOne('c1')).toMatchObject({
      opt_in_status: 'OPTED_IN',
      categories: { late: true, news: false },
    })
  })

  it('sets the categories in the request; others stay, and one that was never set is absent', async () => {
    await calls.makeUsers(['named'])
    await calls.set({ customer_id: 'named', categories: { news: true, offers: false } })
    await calls.set({ customer_id: 'named', categories: { offers: true } })
    expect((await calls.readOne('named')).categories).toEqual({ news: true, offers: true })
  })

  it('opts out a user with at least one category false and none true, even if the request sent another status', async () => {
    await calls.makeUsers(['none-left'])
    const statusAfter = async (userPreferences: object) => {
      await calls.set({ customer_id: 'none-left', ...userPreferences })
      return (await calls.readOne('none-left')).opt_in_status
    }
    expect(await statusAfter({ categories: { news: true, offers: false }, opt_in_status: 'OPTED_IN' })).toBe('OPTED_IN')
    expect(await statusAfter({ categories: { news: false }, opt_in_status: 'DOUBLE_OPTED_IN' })).toBe('OPTED_OUT')
    // Without categories a request decides the status alone.
    expect(await statusAfter({ opt_in_status: 'OPTED_IN' })).toBe('OPTED_IN')
    expect(await statusAfter({ categories: { events: true } })).toBe('OPTED_IN')
  })

  it('answers 404 for an unknown user, and creates nothing', async () => {
    expectRefusal(await calls.update({ customer_id: 'nobody', ...status }), 404, 'not_found')
    expectRefusal(await calls.read({ customer_id: 'nobody' }), 404, 'not_found')
    expect((await trackingOf(server).getUser({ customer_id: 'nobody' })).status).toBe(404)
  })

  it('updates every user with the email, which matches without case and outer spaces', async () => {
    await calls.makeUsers(['e1', 'e2'], ' Shared@Example.COM')
    await calls.makeUsers(['e3'], 'shared@example.com')
    await calls.makeUsers(['e4'], 'shared@example.org')
    await calls.set({ email_id: 'SHARED@example.com  ', categories: { news: true } })
    for (const customerId of ['e1', 'e2', 'e3']) {
      expect((await calls.readOne(customerId)).categories).toEqual({ news: true })
      expect(await calls.proofsOf(customerId)).toHaveLength(1)
    }
    expect((await calls.readOne('e4')).categories).toEqual({})
  })

  it('accepts any number of concurrent requests for one email', async () => {
    const workspace = await server.makeWorkspace({ categories: ['news'] })
    const busy = preferenceCalls(server, workspace)
    await busy.makeUsers(['busy'], 'busy@example.com')
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => {
        return busy.update({ email_id: 'busy@example.com', categories: { news: index % 2 === 0 } })
      }),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(await busy.proofsOf('busy')).toHaveLength(60)
  })

  it('uses email_id if both ids are given, even if only the customer_id exists', async () => {
    await calls.makeUsers(['both-1'], 'both@example.com')
    await calls.makeUsers(['both-2'])
    await calls.set({ customer_id: 'both-2', email_id: 'both@example.com', ...status })
    await calls.set({ customer_id: 'nobody', email_id: 'both@example.com', categories: { news: true } })
    expect(await calls.readOne('both-1')).toMatchObject({ opt_in_status: 'OPTED_IN', categories: { news: true } })
    expect(await calls.readOne('both-2')).toMatchObject(NOTHING_SET)
    const unknown = await calls.update({ customer_id: 'both-2', email_id: 'nobody@example.com', ...status })
    expectRefusal(unknown, 404, 'not_found')
    expect(await calls.readOne('both-2')).toMatchObject(NOTHING_SET)
  })

  it('finds a user by a new address', async () => {
    await calls.makeUsers(['moved'], 'before@example.com')
    await calls.makeUsers(['moved'], 'after@example.com')
    expectRefusal(await calls.update({ email_id: 'before@example.com', ...status }), 404, 'not_found')
    await calls.set({ email_id: 'after@example.com', ...status })
    expect((await calls.readOne('moved')).opt_in_status).toBe('OPTED_IN')
  })

  it('neither finds nor changes users of another workspace, nor accepts its categories', async () => {
    const workspace = await server.makeWorkspace({ categories: ['theirs'] })
    const others = preferenceCalls(server, workspace)
    await others.makeUsers(['c1'], 'c1@example.com')
    await others.set({ email_id: 'c1@example.com', opt_in_status: 'DOUBLE_OPTED_IN' })
    await calls.set({ customer_id: 'c1', opt_in_status: 'OPTED_OUT' })
    expect((await others.readOne('c1')).opt_in_status).toBe('DOUBLE_OPTED_IN')
    const taken = await others.update({ customer_id: 'c1', categories: { news: true } })
    expectRefusal(taken, 400, 'invalid_request', ['user_preferences.categories.news'])
  })

  it('requires the key of the tile data, and SVC-APPKEY with the workspace id', async () => {
    const body = { user_preferences: { ...id, ...status } }
    const put = (options: object) => server.call('PUT', PREFERENCES_PATH, { body, ...options })
    expectRefusal(await put({ tile: 'reports' }), 403, 'forbidden')
    expectRefusal(await put({ headers: { 'svc-appkey': undefined } }), 400, 'invalid_request', ['header.SVC-APPKEY'])
    expectRefusal(await put({ headers: { 'svc-appkey': 'other' } }), 403, 'forbidden', ['header.SVC-APPKEY'])
  })

  it('updates up to the limit of users with one email', { timeout: 60_000 }, async () => {
    const workspace = await server.makeWorkspace({ categories: ['news'] })
    await addUsers(workspace.id, 'many@example.com', USERS_PER_EMAIL_MAX, 1)
    const many = preferenceCalls(server, workspace)
    await many.set({ email_id: 'many@example.com', categories: { news: true } })
    const { body } = await many.read({ email_id: 'many@example.com' })
    expect(body.data).toHaveLength(USERS_PER_EMAIL_MAX)
    expect(new Set(body.data.map(({ customer_id }) => customer_id)).size).toBe(USERS_PER_EMAIL_MAX)
    expect(body.data.filter(({ categories }) => categories['news'] !== true)).toEqual([])

    await addUsers(workspace.id, 'many@example.com', 1, USERS_PER_EMAIL_MAX + 1)
    expectRefusal(await many.update({ email_id: 'many@example.com', categories: { news: false } }), 409, 'conflict')
    const page = await many.read({ email_id: 'many@example.com' })
    expect(page.body.data.map(({ customer_id }) => customer_id)).toEqual(
      Array.from({ length: USERS_PER_EMAIL_MAX }, (_, index) => `many-${index + 2}`),
    )
    const rest = await many.read({ email_id: 'many@example.com', before: page.body.next_before as string })
    expect(rest.body).toMatchObject({ data: [{ customer_id: 'many-1', categories: { news: true } }] })
    expect(rest.body).not.toHaveProperty('next_before')
    const [first] = await many.proofsOf('many-1')
    expect(first?.after.categories).toEqual({ news: true })
  })

  async function addUsers(workspaceId: string, email: string, count: number, first: number): Promise<void> {
    const users = Array.from({ length: count }, (_, index): User => {
      const [customerId, emailKey] = [`many-${first + index}`, normalizeEmail(email)]
      return { id: 1e12 + first + index, workspaceId, customerId, attributes: {}, emailKey, createdAt: 1 }
    })
    const identities = users.map(({ id: userId, customerId }) => {
      return {
        workspaceId,
        name: 'customer_id',
        value: customerId as string,
        userId,
        seenAt: 1,
        number: null,
        seenNumber: null,
        isSingleAlias: false,
      }
    })
    await server.database.write(async (store) => {
      await saveUsers(store, users)
      await saveIdentities(store, identities)
    })
  }
})

describeEachStore('Limits of Update User Email Opt-in Preferences (update_preferences)', (kind) => {
  let server: TestServer
  let calls: PreferenceCalls

  beforeAll(async () => {
    server = await startServer(kind)
    server.setClock(Date.UTC(2030, 0, 1, 12))
    calls = preferenceCalls(server)
  })
  afterAll(() => server.stop())

  it('are 1,000 a minute and 360,000 a day', () => {
    expect(LIMIT_DEFAULTS).toMatchObject({ update_preferences_per_minute: 1_000, update_preferences_per_day: 360_000 })
  })

  it('are both enforced, and no request beyond either is executed', async () => {
    const limits = { ...NO_LIMITS, update_preferences_per_minute: 2, update_preferences_per_day: 3 }
    await server.changeSettings(server.workspace, { limits })
    await calls.makeUsers(['c1'])
    const update = (opt_in_status: string) => calls.update({ customer_id: 'c1', opt_in_status })
    await calls.set({ customer_id: 'c1', opt_in_status: 'OPTED_IN' })
    // A refused request counts too.
    expect((await update('x')).status).toBe(400)
    expectRefusal(await update('OPTED_OUT'), 429, 'rate_limited')
    server.setClock(Date.UTC(2030, 0, 1, 12, 1))
    await calls.set({ customer_id: 'c1', opt_in_status: 'DOUBLE_OPTED_IN' })
    const refused = await update('OPTED_OUT')
    expectRefusal(refused, 429, 'rate_limited')
    expect(refused.headers.get('retry-after')).toBe(String((12 * 60 - 1) * 60))
    expect((await calls.readOne('c1')).opt_in_status).toBe('DOUBLE_OPTED_IN')
    server.setClock(Date.UTC(2030, 0, 2))
    await calls.set({ customer_id: 'c1', opt_in_status: 'OPTED_OUT' })
  })
})
