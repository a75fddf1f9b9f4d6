// Changing settings through real HTTP, on every store: values and texts, all or nothing, and every fault at once.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { ROLES } from '../../../src/core/accounts/role.ts'
import { SecretVault } from '../../../src/store/secret-vault.ts'
import { openFeedbackKey } from '../../../src/store/workspaces/feedback-keys.ts'
import { findWorkspace } from '../../../src/store/workspaces/workspaces.ts'
import { signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import { SENDER, senderCallsOf } from '../../support/calls/sender-calls.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import { expectRefusal, startServer, until, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore, describeOnPostgres } from '../../support/stores.ts'

const SECRET_KEY = randomBytes(32)
const UNKNOWN_SENDER = '00000000-0000-7000-8000-000000000000'

interface WorkspaceBody {
  readonly settings: Readonly<Record<string, unknown>>
  readonly revision: number
}

/** Changes and reads settings as one person. */
function callsOf(server: TestServer, workspace: TestWorkspace, person: SignedInPerson) {
  const path = `/v1/workspaces/${workspace.id}`
  return {
    read: () => server.call<WorkspaceBody>('GET', path, { person }),
    send: (body: unknown) => server.call<WorkspaceBody>('PATCH', path, { person, body }),
    change: (settings: unknown) => server.call<WorkspaceBody>('PATCH', path, { person, body: { settings } }),
  }
}

describeEachStore('Update workspace (update_workspace)', (kind) => {
  let server: TestServer
  let owner: SignedInPerson
  let workspace: TestWorkspace
  let calls: ReturnType<typeof callsOf>

  beforeAll(async () => {
    server = await startServer(kind, { SECRET_KEY: SECRET_KEY.toString('base64') })
    owner = await signInAs(server, 'owner')
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    workspace = await server.makeWorkspace()
    calls = callsOf(server, workspace, owner)
  })

  const stored = async () => {
    const found = await findWorkspace(server.database, workspace.id)
    if (!found) throw new Error('the workspace is not stored')
    return found.workspace
  }

  it('takes values and the texts of the command, and returns all settings', async () => {
    const { body: before } = await calls.read()
    const answer = await calls.change({
      name: 'The Shop',
      timezone: 'Europe/Berlin',
      identity_resolution: ['crm', 'card'],
      project_codes: 'a, b',
      joined_customer_ids_max: 50,
      clock_skew_seconds: '60',
      'retention_days.events': 30,
      global_control_percent: 2.5,
      frequency_caps: ['1/1d', '3/7d'],
      'limits.management_per_minute': 7_777,
    })
    expect(answer.status).toBe(200)
    expect(answer.body.settings).toEqual({
      ...before.settings,
      name: 'The Shop',
      timezone: 'Europe/Berlin',
      identity_resolution: ['crm', 'card'],
      project_codes: ['a', 'b'],
      joined_customer_ids_max: 50,
      clock_skew_seconds: 60,
      'retention_days.events': 30,
      global_control_percent: 2.5,
      frequency_caps: ['1/1d', '3/7d'],
      'limits.management_per_minute': 7_777,
    })
    expect(answer.body.revision).toBeGreaterThan(before.revision)
    expect((await calls.read()).body).toEqual(answer.body)
  })

  it('takes what the response shows, and turns off by null', async () => {
    const { settings } = (await calls.change({ 'retention_days.events': 30, identity_resolution: ['crm'] })).body
    expect((await calls.change(settings)).body.settings).toEqual(settings)
    const off = { 'retention_days.events': null, identity_resolution: null, frequency_caps: null }
    expect((await calls.change(off)).body.settings).toMatchObject({
      'retention_days.events': null,
      identity_resolution: [],
      frequency_caps: [],
    })
  })

  it('names the sender of alerts, which must be one of the workspace', async () => {
    const { body } = await senderCallsOf(server).create(SENDER, { as: workspace })
    const { settings } = (await calls.change({ alert_sender_id: body.sender_id })).body
    expect(settings['alert_sender_id']).toBe(body.sender_id)
    expect((await calls.change({ alert_sender_id: null })).body.settings['alert_sender_id']).toBeNull()
    const other = callsOf(server, await server.makeWorkspace(), owner)
    const refused = await other.change({ alert_sender_id: body.sender_id })
    expectRefusal(refused, 400, 'invalid_request', ['settings.alert_sender_id'])
  })

  const wrong = {
    name: '',
    suspended: 'perhaps',
    timezone: null,
    project_codes: ['a,b'],
    'limits.management_per_minute': 0,
    'feedback.postmark_key': 'user',
    email_protection: 'encrypted',
    alert_sender_id: UNKNOWN_SENDER,
  }

  it.each<[what: string, body: (settings: object) => object, others: readonly string[]]>([
    ['settings', (settings) => ({ settings }), []],
    ['settings and an unknown one', (settings) => ({ settings: { ...settings, colour: 'red' } }), ['settings.colour']],
    ['settings and the request', (settings) => ({ settings, mistyped: 1 }), ['mistyped']],
  ])('names everything wrong with the %s at once, and changes nothing', async (_what, toBody, others) => {
    const before = await stored()
    const fields = Object.keys(wrong).map((name) => `settings.${name}`)
    const answer = await calls.send(toBody({ clock_skew_seconds: 1, ...wrong }))
    expectRefusal(answer, 400, 'invalid_request', [...fields, ...others])
    expect(await stored()).toEqual(before)
  })

  it.each<[body: object, fields: readonly string[]]>([
    [{}, ['settings']],
    [{ settings: {} }, ['settings']],
    [{ settings: [] }, ['settings']],
    [{ settings: { name: { text: 'x' } } }, ['settings.name']],
    [{ settings: { project_codes: ['a', 1], name: '' } }, ['settings.name', 'settings.project_codes[1]']],
    [{ settings: { name: 'x' }, if_revision: '1' }, ['if_revision']],
  ])('refuses %j', async (body, fields) => expectRefusal(await calls.send(body), 400, 'invalid_request', fields))

  it('does not change the protection of emails once the workspace has users, as other changes still can be', async () => {
    await trackingOf(server, workspace).apply({ type: 'customer', customer_id: 'c1', attributes: {} })
    const fields = ['settings.email_protection']
    expectRefusal(await calls.change({ email_protection: 'tokenized', name: 'x' }), 400, 'invalid_request', fields)
    const both = { email_protection: 'tokenized', name: '' }
    expectRefusal(await calls.change(both), 400, 'invalid_request', [...fields, 'settings.name'])
    expect((await calls.change({ email_protection: 'none', name: 'x' })).status).toBe(200)
  })

  it('stores keys of feedback encrypted, and never returns them', async () => {
    const answer = await calls.change({ 'feedback.mailgun_key': 'key-123', 'feedback.postmark_key': 'user:secret' })
    expect(answer.body.settings).toMatchObject({ 'feedback.mailgun_key': 'set', 'feedback.sendgrid_key': null })
    expect(JSON.stringify([answer.body, await stored()])).not.toMatch(/key-123|secret/)
    const opened = async () => openFeedbackKey(new SecretVault(SECRET_KEY), await stored(), 'mailgun_key')
    expect(await opened()).toBe('key-123')
    expect((await calls.change(answer.body.settings)).status).toBe(200)
    expect(await opened()).toBe('key-123')
    const fields = ['settings.feedback.sendgrid_key']
    expectRefusal(await calls.change({ 'feedback.sendgrid_key': 'set' }), 400, 'invalid_request', fields)
    expect((await calls.change({ 'feedback.mailgun_key': null })).body.settings['feedback.mailgun_key']).toBeNull()
    expect(Object.keys((await stored()).feedbackKeys)).toEqual(['postmark_key'])
  })

  it('refuses a change of another revision than the one that was read', async () => {
    const { revision } = (await calls.read()).body
    const changed = await calls.send({ settings: { name: 'First' }, if_revision: revision })
    expect(changed.status).toBe(200)
    const late = await calls.send({ settings: { name: 'Second' }, if_revision: revision })
    expectRefusal(late, 409, 'conflict', ['if_revision'])
    expect(JSON.stringify(late.body)).toContain(`must be ${changed.body.revision}`)
    expect((await stored()).name).toBe('First')
  })

  it('loses none of two changes at the same moment', async () => {
    await Promise.all([calls.change({ name: 'Both' }), calls.change({ clock_skew_seconds: 7 })])
    expect(await stored()).toMatchObject({ name: 'Both', clockSkewSeconds: 7 })
  })

  it('suspends a workspace, and resumes it', async () => {
    const track = async () => {
      const body = { type: 'event', customer_id: 'c1', actions: [{ action: 'A' }] }
      return (await server.call('POST', `/v1/event/${workspace.id}`, { as: workspace, body })).status
    }
    for (const [suspended, status] of [
      [true, 403],
      [false, 200],
    ] as const) {
      expect((await calls.change({ suspended })).body.settings['suspended']).toBe(suspended)
      await until(`it answers ${status}`, async () => (await track()) === status)
    }
  })

  it('is for owners and developers of the workspace', async () => {
    for (const role of ROLES) {
      const person = await signInAs(server, role, workspace.id)
      const may = role === 'owner' || role === 'developer'
      const { status } = await callsOf(server, workspace, person).change({ name: role })
      expect([role, status]).toEqual([role, may ? 200 : 403])
      const elsewhere = await callsOf(server, server.workspace, person).change({ name: role })
      expectRefusal(elsewhere, 403, 'forbidden')
    }
  })
})

describeEachStore('A server without a pipeline', (kind) => {
  it('does not change the protection of emails while the first request of a user is in its log', async () => {
    const server = await startServer(kind, {}, { withPipeline: false })
    const { change } = callsOf(server, server.workspace, await signInAs(server, 'owner'))
    expect((await change({ email_protection: 'tokenized' })).status).toBe(200)
    const body = { type: 'event', customer_id: 'c1', actions: [{ action: 'A' }] }
    expect((await server.call('POST', `/v1/event/${server.workspace.id}`, { body })).status).toBe(200)
    const refused = await change({ email_protection: 'none' })
    expectRefusal(refused, 400, 'invalid_request', ['settings.email_protection'])
    await server.stop()
  })
})

describeOnPostgres('A server without SECRET_KEY', () => {
  it('refuses keys of feedback, among all other faults', async () => {
    const server = await startServer('postgres')
    const { change } = callsOf(server, server.workspace, await signInAs(server, 'owner'))
    const sent = { 'feedback.mailgun_key': 'key-123' }
    expectRefusal(await change(sent), 400, 'invalid_request', ['settings.feedback.mailgun_key'])
    const both = { ...sent, name: '' }
    expectRefusal(await change(both), 400, 'invalid_request', ['settings.feedback.mailgun_key', 'settings.name'])
    await server.stop()
  })
})
