// What the audit trail says about settings, keys and categories of a workspace, through real HTTP and by commands, on every store.
import { randomBytes } from 'node:crypto'
import { userInfo } from 'node:os'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import { entriesAddedBy, entriesOf } from '../../support/audit/audit-entries.ts'
import { callCommand } from '../../support/calls/call-command.ts'
import { environmentOf, type Environment } from '../../support/program.ts'
import { startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const WHO = `command:${userInfo().username}`
const [FIRST_KEY, SECOND_KEY] = ['key-of-the-first-service', 'key-of-the-second-service']

describeEachStore('The audit trail of a workspace', (kind) => {
  let server: TestServer
  let developer: SignedInPerson
  let environment: Environment

  beforeAll(async () => {
    const secretKey = { SECRET_KEY: randomBytes(32).toString('base64') }
    server = await startServer(kind, secretKey, { withDelivery: false })
    environment = { ...environmentOf(server), ...secretKey }
    developer = await signInAs(server, 'developer')
  })
  afterAll(() => server.stop())

  const added = (workspace: { readonly id: string }, work: () => Promise<unknown>) => {
    return entriesAddedBy(server.database, workspace.id, work)
  }
  const send = async (workspace: TestWorkspace, method: string, path: string, body?: object) => {
    const options = { as: workspace, person: developer, ...(body && { body }) }
    const answer = await server.call<{ key?: string }>(method, `/v1/workspaces/${workspace.id}${path}`, options)
    expect({ path, status: answer.status < 300, body: answer.body }).toMatchObject({ path, status: true })
    return answer.body
  }
  const set = (workspace: TestWorkspace, settings: object) => {
    return added(workspace, () => send(workspace, 'PATCH', '', { settings }))
  }
  const run = async (...args: string[]) => {
    expect({ args, ...(await callCommand(args, environment)) }).toMatchObject({ args, status: 0 })
  }

  it('names the settings that differ, and of keys of feedback only that there is one, or another', async () => {
    const workspace = await server.makeWorkspace()
    const changed = await set(workspace, { name: 'Shop', 'limits.management_per_minute': 7_000, project_codes: ['p1'] })
    expect(changed).toMatchObject([
      {
        who: `person:${developer.email}`,
        action: 'update_workspace',
        kind: 'workspace',
        subjectId: workspace.id,
        subjectName: 'Shop',
        changes: [
          { field: 'name', before: workspace.id, after: 'Shop' },
          { field: 'project_codes[0]', before: null, after: 'p1' },
          { field: 'limits.management_per_minute', before: 1_000, after: 7_000 },
        ],
      },
    ])
    const field = 'feedback.mailgun_key'
    expect(await set(workspace, { [field]: FIRST_KEY })).toMatchObject([
      { changes: [{ field, before: null, after: 'set' }] },
    ])
    expect(await set(workspace, { [field]: SECOND_KEY })).toMatchObject([
      { changes: [{ field, before: null, after: null }] },
    ])
    expect(await set(workspace, { [field]: null })).toMatchObject([
      { changes: [{ field, before: 'set', after: null }] },
    ])
    expect(await set(workspace, { name: 'Shop' })).toEqual([])
    const all = JSON.stringify(await entriesOf(server.database, workspace.id))
    for (const secret of [FIRST_KEY, SECOND_KEY]) expect(all).not.toContain(secret)
  })

  it('tells which key was replaced, and has no key', async () => {
    const workspace = await server.makeWorkspace()
    const keys: (string | undefined)[] = []
    const [entry] = await added(workspace, async () => {
      keys.push((await send(workspace, 'POST', '/keys/data', { old_key_valid_hours: 24 })).key)
    })
    expect(entry).toMatchObject({ kind: 'key', subjectId: 'data', action: 'generate_key' })
    expect(entry?.changes).toEqual([
      { field: 'created_by', before: null, after: `person:${developer.email}` },
      { field: 'previous_valid_until', before: null, after: expect.stringMatching(/Z$/) as string },
      { field: 'key', before: null, after: null },
    ])
    expect(keys[0]).toMatch(/^td_data_/)
    for (const key of [workspace.dataKey, keys[0] ?? '']) expect(JSON.stringify(entry)).not.toContain(key)
  })

  it('names labels of categories by their language', async () => {
    const workspace = await server.makeWorkspace()
    const changesOf = async (work: () => Promise<unknown>) => {
      const [entry] = await added(workspace, work)
      expect(entry).toMatchObject({ kind: 'category', subjectId: 'News', subjectName: 'News' })
      return entry?.changes.map(({ field, before, after }) => [field, before, after])
    }
    const labels = { de: 'Neues', fr: 'Nouvelles' }
    expect(await changesOf(() => send(workspace, 'POST', '/categories', { name: 'News', labels }))).toEqual([
      ['name', null, 'News'],
      ['labels.de', null, 'Neues'],
      ['labels.fr', null, 'Nouvelles'],
    ])
    const changed = () => send(workspace, 'PATCH', '/categories/News', { labels: { de: 'Neuigkeiten' } })
    expect(await changesOf(changed)).toEqual([
      ['labels.de', 'Neues', 'Neuigkeiten'],
      ['labels.fr', 'Nouvelles', null],
    ])
    expect(await changesOf(() => send(workspace, 'DELETE', '/categories/News'))).toEqual([
      ['name', 'News', null],
      ['labels.de', 'Neuigkeiten', null],
    ])
  })

  it('has what commands do, by the user of the system', async () => {
    const table: [args: (id: string) => string[], action: string][] = [
      [(id) => ['workspace', 'create', id, '--timezone', 'Europe/Berlin'], 'create_workspace'],
      [(id) => ['workspace', 'set', id, 'name=Shop', 'suspended=true'], 'update_workspace'],
      [(id) => ['key', 'generate', id, 'reports', '--yes'], 'generate_key'],
      [(id) => ['category', 'add', id, 'News'], 'add_category'],
      [(id) => ['category', 'remove', id, 'News'], 'remove_category'],
    ]
    const workspace = { id: 'by-commands' }
    for (const [toArgs, action] of table) {
      const entries = await added(workspace, () => run(...toArgs(workspace.id)))
      expect(entries).toMatchObject([{ action, who: WHO, address: null, requestId: null }])
    }
    await run('category', 'add', workspace.id, 'News')
    expect(await added(workspace, () => run('category', 'add', workspace.id, 'News'))).toEqual([])
  })
})
