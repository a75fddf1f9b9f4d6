// What commands write to the audit trail, and `audit list`, beside a server, on every store.
import { userInfo } from 'node:os'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { recordChange } from '../../src/actions/audit/record-change.ts'
import { entriesAddedBy } from '../support/audit/audit-entries.ts'
import { callCommand } from '../support/calls/call-command.ts'
import { deliveryCallsOf } from '../support/delivery/delivery-calls.ts'
import { environmentOf, failureOf, type Environment } from '../support/program.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { describeEachStore } from '../support/stores.ts'

const NOON = Date.parse('2026-05-10T12:00:00Z')
const WHO = `command:${userInfo().username}`

describeEachStore('Commands and the audit trail', (kind) => {
  let server: TestServer
  let environment: Environment

  beforeAll(async () => {
    server = await startServer(kind, {}, { withDelivery: false })
    environment = environmentOf(server)
  })
  afterAll(() => server.stop())

  const run = async (...args: string[]) => {
    const ended = await callCommand(args, environment)
    expect({ args, ...ended }).toMatchObject({ args, status: 0 })
    return ended
  }
  const addedBy = (...args: string[]) => {
    return entriesAddedBy(server.database, server.workspace.id, () => run(...args))
  }

  it('record what the operations of the same names record, by the user of the system', async () => {
    const { id } = server.workspace
    const campaign = await deliveryCallsOf(server).makeDelivered()
    const smtp = ['--host', '127.0.0.1', '--port', '2525', '--security', 'none']
    const sender = ['--name', 'News', '--from-email', 'news@shop.example', '--from-name', 'The Shop', ...smtp]
    const table: [args: string[], action: string, kind: string][] = [
      [['campaign', 'start', id, campaign], 'start_campaign', 'campaign'],
      [['campaign', 'pause', id, campaign], 'pause_campaign', 'campaign'],
      [['campaign', 'resume', id, campaign], 'resume_campaign', 'campaign'],
      [['campaign', 'cancel', id, campaign], 'cancel_campaign', 'campaign'],
      [['sender', 'add', id, ...sender], 'create_sender', 'sender'],
      [['suppression', 'add', id, 'ada@shop.example'], 'add_suppression', 'suppression'],
      [['suppression', 'remove', id, 'ada@shop.example'], 'remove_suppression', 'suppression'],
    ]
    for (const [args, action, kind] of table) {
      const entries = await addedBy(...args)
      expect(entries).toMatchObject([{ action, kind, who: WHO, address: null, requestId: null }])
    }
    expect(await addedBy('campaign', 'cancel', id, campaign)).toEqual([])
  })

  it('list it with filters, newest first, a page at a time', async () => {
    const { id } = await server.makeWorkspace()
    await server.database.write(async (store) => {
      for (let index = 0; index < 102; index++) {
        const credential = { kind: 'command', user: index === 7 ? 'ada' : 'ben' } as const
        const by = { workspace: { id }, credential, callerAddress: null, requestId: null, now: NOON + index * 1_000 }
        const change = { kind: 'segment', id: `s${index}`, name: `n${index}`, action: 'update_segment' } as const
        await recordChange(store, by, { ...change, before: { name: 'old' }, after: { name: `n${index}` } })
      }
    })
    const list = async (...options: string[]) => {
      const { body, text } = await run('audit', 'list', id, ...options)
      return { ...(body as { data: { number: number }[]; next_before: string | null }), text }
    }
    const first = await list()
    expect(first.data.map(({ number }) => number)).toEqual(Array.from({ length: 100 }, (_, index) => 102 - index))
    expect(first.text.trimEnd().split('\n').at(-1)).toBe(`More: tidings audit list ${id} --before ${first.next_before}`)
    const rest = await list('--before', first.next_before ?? '')
    expect(rest).toMatchObject({ data: [{ number: 2 }, { number: 1 }], next_before: null })
    expect(rest.text).toBe(
      '2  2026-05-10T12:00:01.000Z  command:ben  update_segment  s1  "n1"\n    name: "old" → "n1"\n' +
        '1  2026-05-10T12:00:00.000Z  command:ben  update_segment  s0  "n0"\n    name: "old" → "n0"\n',
    )
    const table: [options: string[], numbers: number[]][] = [
      [['--who', 'command:ada'], [8]],
      [['--subject', 's3', '--kind', 'segment', '--action', 'update_segment'], [4]],
      [
        ['--from', '2026-05-10T12:01:40Z'],
        [102, 101],
      ],
      [
        ['--to', '2026-05-10T12:00:02Z'],
        [2, 1],
      ],
      [['--kind', 'template'], []],
    ]
    for (const [options, numbers] of table) {
      const { data } = await list(...options)
      expect({ options, numbers: data.map(({ number }) => number) }).toEqual({ options, numbers })
    }
  })

  it('tell that a value is not kept, and that there are more fields', async () => {
    const { id } = await server.makeWorkspace()
    const by = { workspace: { id }, callerAddress: null, requestId: null, now: NOON }
    await server.database.write((store) => {
      const after = { list: Array.from({ length: 103 }, (_, index) => index) }
      const change = { kind: 'key', id: 'data', action: 'renew', secrets: ['key'], after } as const
      return recordChange(store, { ...by, credential: { kind: 'key', tile: 'reports' } }, change)
    })
    const { text } = await run('audit', 'list', id)
    expect(text.split('\n').slice(0, 2)).toEqual([
      '1  2026-05-10T12:00:00.000Z  key:reports  renew  data',
      '    list[0]: null → 0',
    ])
    expect(text).toContain('    and 4 more\n')
    await server.database.write((store) => {
      const change = { kind: 'key', id: 'data', action: 'renew', secrets: ['key'] } as const
      return recordChange(store, { ...by, credential: { kind: 'key', tile: 'reports' } }, change)
    })
    expect((await run('audit', 'list', id)).text).toContain('    key: (not kept)\n')
  })

  it('name every option that is wrong', async () => {
    const wrong = ['--kind', 'planet', '--from', 'yesterday', '--before', '7']
    const refused = await callCommand(['audit', 'list', server.workspace.id, ...wrong], environment)
    expect(failureOf(refused)).toMatchObject({
      status: 1,
      code: 'invalid_request',
      fields: ['--kind', '--from', '--before'],
    })
    expect(failureOf(await callCommand(['audit', 'list', 'nobody'], environment))).toMatchObject({ code: 'not_found' })
  })
})
