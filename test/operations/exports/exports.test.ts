// The exports of users, events and proofs of consent through real HTTP, on every store.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXPORT_SLOTS } from '../../../src/operations/slots.ts'
import { addEvents, type StoredEvent } from '../../../src/store/users/events.ts'
import { findUserId, removeUsers } from '../../../src/store/users/users.ts'
import { openExport, readExport, toLines, type ExportLine } from '../../support/calls/export-calls.ts'
import { importCallsOf } from '../../support/calls/import-calls.ts'
import { preferenceCalls } from '../../support/calls/preference-calls.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import {
  expectRefusal,
  LIMITS_OF_TESTS,
  startServer,
  until,
  type TestServer,
  type TestWorkspace,
} from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const PROOFS = '/v1.0/opt-in-management/user-preferences/export'
const user = (customer_id: string, attributes: object = {}) => ({ type: 'customer', customer_id, attributes })
const without = (line: object, ...names: readonly string[]): Readonly<Record<string, unknown>> => {
  return Object.fromEntries(Object.entries(line).filter(([name]) => !names.includes(name)))
}
const withoutCursor = (lines: readonly ExportLine[]) => lines.map((line) => without(line, 'cursor'))
const idsOf = (lines: readonly ExportLine[]) => lines.map((line) => line['customer_id'])

describeEachStore('Exports (export_users, export_events, export_preference_changes)', (kind) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer(kind, { PII_KEY: randomBytes(32).toString('base64') })
  })
  afterAll(() => server.stop())

  const make = (settings: Parameters<TestServer['makeWorkspace']>[0] = {}) => {
    return server.makeWorkspace({ limits: LIMITS_OF_TESTS, ...settings })
  }
  const usersPath = ({ id }: TestWorkspace) => `/v1/customer/${id}/export`
  const eventsPath = ({ id }: TestWorkspace, query: Readonly<Record<string, string>> = {}) => {
    return `/v1/event/${id}/export?${new URLSearchParams(query).toString()}`
  }

  describe('of users', () => {
    it('has each user once, oldest first, with attributes, identifiers and preferences', async () => {
      const as = await make({ identityResolution: ['crm'], categories: ['News'] })
      const tracking = trackingOf(server, as)
      await tracking.apply(
        { ...user('a', { plan: 'free' }), user_identifiers: { crm: 'x' } },
        user('b'),
        user('merged'),
        { ...user('b'), user_identifiers: { crm: 'y' } },
        { ...user('merged'), user_identifiers: { crm: 'y' } },
      )
      await preferenceCalls(server, as).set({ customer_id: 'a', opt_in_status: 'OPTED_IN', categories: { News: true } })
      const time = expect.stringMatching(/^\d{4}-.*Z$/) as string
      expect(withoutCursor(await readExport(server, usersPath(as), as))).toEqual([
        {
          customer_id: 'a',
          attributes: { plan: 'free' },
          user_identifiers: { crm: 'x' },
          created_at: time,
          opt_in_status: 'OPTED_IN',
          categories: { News: true },
          preferences_updated_at: time,
        },
        {
          customer_id: 'b',
          attributes: {},
          user_identifiers: { crm: 'y' },
          created_at: time,
          opt_in_status: null,
          categories: {},
          preferences_updated_at: null,
        },
      ])
    })

    it('continues behind the cursor of any line', async () => {
      const as = await make()
      await trackingOf(server, as).apply(...['a', 'b', 'c', 'd'].map((id) => user(id)))
      const lines = await readExport(server, usersPath(as), as)
      for (const [index, { cursor }] of lines.entries()) {
        const rest = await readExport(server, `${usersPath(as)}?after=${cursor}`, as)
        expect(rest).toEqual(lines.slice(index + 1))
      }
    })

    it('is taken by an import into another workspace, which then exports the same', async () => {
      const settings = {
        identityResolution: ['crm'],
        categories: ['News', 'Offers'],
        emailProtection: 'encrypted' as const,
      }
      const [from, into] = [await make(settings), await make(settings)]
      await trackingOf(server, from).apply(
        {
          ...user('a', { email: 'Anna@example.com', age: 42, tags: ['x'], gone: null }),
          user_identifiers: { crm: '1' },
        },
        { type: 'customer', user_identifiers: { crm: '2' }, attributes: { plan: 'free' } },
        user('c'),
      )
      const preferences = preferenceCalls(server, from)
      await preferences.set({
        customer_id: 'a',
        opt_in_status: 'DOUBLE_OPTED_IN',
        categories: { News: true, Offers: false },
      })
      await preferences.set({ customer_id: 'c', opt_in_status: 'OPTED_OUT' })
      const { body } = await server.call<string>('GET', usersPath(from), { as: from })
      const applied = await importCallsOf(server, into).apply(body)
      expect(applied).toMatchObject({ accepted: 3, refused: 0 })
      const stable = (lines: readonly ExportLine[]) => {
        return lines.map((line) => without(line, 'cursor', 'created_at', 'preferences_updated_at'))
      }
      const exported = stable(await readExport(server, usersPath(into), into))
      expect(exported).toEqual(stable(toLines(body)))
      expect(exported[0]).toMatchObject({ attributes: { email: 'Anna@example.com' } })
    })

    it('omits categories that the workspace no longer has', async () => {
      const as = await make({ categories: ['News', 'Old'] })
      await preferenceCalls(server, as).makeUsers(['a'])
      await preferenceCalls(server, as).set({ customer_id: 'a', categories: { News: true, Old: true } })
      await server.changeSettings(as, { categories: ['News'], limits: LIMITS_OF_TESTS })
      expect(await readExport(server, usersPath(as), as)).toMatchObject([{ categories: { News: true } }])
      expect((await readExport(server, usersPath(as), as))[0]?.['categories']).toEqual({ News: true })
    })
  })

  describe('of events', () => {
    const event = (customer_id: string, action: string, user_time: string) => {
      return { type: 'event', customer_id, actions: [{ action, user_time, attributes: { n: 1 } }] }
    }

    it('has the events of a range of time, with their user, in the order of their receipt', async () => {
      const as = await make({ identityResolution: ['crm'], timezone: 'Europe/Berlin' })
      const tracking = trackingOf(server, as)
      await tracking.apply(
        event('a', 'Late', '2026-05-04T10:00:00Z'),
        event('b', 'Early', '2026-05-01T00:00:00Z'),
        {
          type: 'event',
          user_identifiers: { crm: 'x' },
          actions: [{ action: 'Nameless', user_time: '2026-05-02T00:00:00Z' }],
        },
        event('c', 'Merged', '2026-05-03T00:00:00Z'),
        { ...user('a'), user_identifiers: { crm: 'one' } },
        { ...user('c'), user_identifiers: { crm: 'one' } },
      )
      const all = await readExport(server, eventsPath(as), as)
      expect(all.map((line) => [line['customer_id'], line['action']])).toEqual([
        ['a', 'Late'],
        ['b', 'Early'],
        [null, 'Nameless'],
        ['a', 'Merged'],
      ])
      expect(withoutCursor(all)[0]).toEqual({
        customer_id: 'a',
        event_id: expect.any(String) as string,
        action: 'Late',
        attributes: { n: 1 },
        platform: null,
        app_version: null,
        device_id: 'a',
        ip: null,
        time: '2026-05-04T10:00:00.000Z',
        received_at: expect.any(String) as string,
      })
      const actionsOf = async (query: Readonly<Record<string, string>>) => {
        return (await readExport(server, eventsPath(as, query), as)).map((line) => line['action'])
      }
      expect(await actionsOf({ from: '2026-05-02T00:00:00Z', to: '2026-05-04T10:00:00Z' })).toEqual([
        'Nameless',
        'Merged',
      ])
      // Without a zone, in the workspace's.
      expect(await actionsOf({ from: '2026-05-03T02:00:00', to: '2026-05-03T02:00:01' })).toEqual(['Merged'])
      expect(await actionsOf({ to: '2026-05-01T00:00:00Z' })).toEqual([])
      for (const [index, { cursor }] of all.entries()) {
        expect(await readExport(server, eventsPath(as, { after: cursor }), as)).toEqual(all.slice(index + 1))
      }
    })

    it('leaves out the events of an erased person that are yet to be deleted', async () => {
      const as = await make()
      const event = (customer_id: string) => ({
        type: 'event',
        customer_id,
        actions: [{ action: `of ${customer_id}` }],
      })
      await trackingOf(server, as).apply(event('gone'), event('here'))
      const id = await findUserId(server.database, as.id, { name: 'customer_id', value: 'gone' })
      await server.database.write((store) => removeUsers(store, [id as number]))
      const lines = await readExport(server, eventsPath(as), as)
      expect(lines.map(({ action }) => action)).toEqual(['of here'])
    })

    it('finds the first events of a range among thousands of all workspaces', async () => {
      const as = await make()
      await trackingOf(server, as).apply(user('u'))
      const userId = (await findUserId(server.database, as.id, { name: 'customer_id', value: 'u' })) as number
      const [hour, start] = [3_600_000, Date.parse('2027-01-01T00:00:00Z')]
      // Behind all other events. Every second one is of another workspace, and every tenth is dated a year before its receipt.
      const events = Array.from({ length: 12_000 }, (_, index): StoredEvent => {
        const receivedAt = start + index * hour
        return {
          id: 2 ** 50 + index * 7,
          workspaceId: index % 2 === 0 ? as.id : 'other',
          userId,
          givenId: null,
          action: `A${index}`,
          attributes: '{}',
          platform: null,
          appVersion: null,
          deviceId: null,
          ip: null,
          projectCode: null,
          time: index % 10 === 0 ? receivedAt - 8_760 * hour : receivedAt,
          receivedAt,
        }
      })
      await server.database.write((store) => addEvents(store, events))
      const from = start + 9_000 * hour
      const expected = events.filter(({ workspaceId, time }) => workspaceId === as.id && time >= from)
      const lines = await readExport(server, eventsPath(as, { from: new Date(from).toISOString() }), as)
      expect(lines.map((line) => line['action'])).toEqual(expected.map(({ action }) => action))
    })

    const ranges: [what: string, query: Readonly<Record<string, string>>, fields: string[]][] = [
      ['a time that is none', { from: 'yesterday' }, ['query.from']],
      ['an end before the start', { from: '2026-05-02', to: '2026-05-01' }, ['query.to']],
      ['a cursor of another export', { after: 'x1' }, ['query.after']],
      ['an unknown field', { until: '2026-05-01' }, ['query.until']],
    ]
    it.each(ranges)('refuses %s', async (_what, query, fields) => {
      expectRefusal(await server.call('GET', eventsPath(server.workspace, query)), 400, 'invalid_request', fields)
    })
  })

  describe('of proofs of consent', () => {
    it('has all proofs, also those of merged users, and continues behind each', async () => {
      const as = await make({ identityResolution: ['crm'], categories: ['News'] })
      const preferences = preferenceCalls(server, as)
      await preferences.makeUsers(['a', 'b', 'c'])
      for (const status of ['OPTED_IN', 'OPTED_OUT']) {
        for (const customer_id of ['b', 'a']) await preferences.set({ customer_id, opt_in_status: status })
      }
      await trackingOf(server, as).apply(...['a', 'b'].map((id) => ({ ...user(id), user_identifiers: { crm: 'one' } })))
      const lines = await readExport(server, PROOFS, as)
      const shown = lines.map((line) => [
        line['customer_id'],
        line['by'],
        (line['after'] as { opt_in_status: string }).opt_in_status,
      ])
      expect(shown.filter(([, by]) => by === 'key:data')).toEqual([
        ['a', 'key:data', 'OPTED_IN'],
        ['a', 'key:data', 'OPTED_OUT'],
        ['a', 'key:data', 'OPTED_IN'],
        ['a', 'key:data', 'OPTED_OUT'],
      ])
      const [first] = lines.map((line) => without(line, 'cursor', 'customer_id'))
      expect(await preferences.proofsOf('a')).toContainEqual(first)
      for (const [index, { cursor }] of lines.entries()) {
        expect(await readExport(server, `${PROOFS}?after=${cursor}`, as)).toEqual(lines.slice(index + 1))
      }
    })
  })

  it('have no line of another workspace', async () => {
    const [as, other] = [await make(), await make()]
    await trackingOf(server, other).apply(user('theirs'), {
      type: 'event',
      customer_id: 'theirs',
      actions: [{ action: 'A' }],
    })
    await preferenceCalls(server, other).set({ customer_id: 'theirs', opt_in_status: 'OPTED_IN' })
    for (const path of [usersPath(as), eventsPath(as), PROOFS]) expect(await readExport(server, path, as)).toEqual([])
    expect(idsOf(await readExport(server, PROOFS, other))).toEqual(['theirs'])
  })

  it('refuse a cursor that is none, and the key of the tile reports', async () => {
    for (const path of [usersPath(server.workspace), PROOFS]) {
      expectRefusal(await server.call('GET', `${path}?after=1`), 400, 'invalid_request', ['query.after'])
    }
    for (const path of [usersPath(server.workspace), eventsPath(server.workspace), PROOFS]) {
      expectRefusal(await server.call('GET', path, { tile: 'reports' }), 403, 'forbidden')
    }
  })

  /** A workspace whose users do not fit into what a connection buffers. */
  const makeLarge = async () => {
    const as = await make()
    const text = 'x'.repeat(900_000)
    const ids = Array.from({ length: 30 }, (_, index) => `large-${index}`)
    await trackingOf(server, as).apply(...ids.map((id) => user(id, { text })))
    return as
  }

  it(`run at most ${EXPORT_SLOTS.slotsPerWorkspaceMax} at once in a workspace, and end when the client leaves`, async () => {
    const as = await makeLarge()
    const open = () => openExport(server.url, usersPath(as), as)
    const responses = await Promise.all(Array.from({ length: EXPORT_SLOTS.slotsPerWorkspaceMax }, open))
    expectRefusal(await server.call('GET', usersPath(as), { as }), 503, 'unavailable')
    for (const response of responses) response.destroy()
    await until('the slots are free again', async () => (await server.call('GET', PROOFS, { as })).status === 200)
  })

  const rename = (from: string, to: string) => {
    return server.database.write((store) => store.query.schema.alterTable('users').renameColumn(from, to).execute())
  }

  it('are cut without a clean end if the store fails, and can be continued', async () => {
    const as = await makeLarge()
    const all = idsOf(await readExport(server, usersPath(as), as))
    const response = await openExport(server.url, usersPath(as), as)
    const pieces = response[Symbol.asyncIterator]() as AsyncIterableIterator<Buffer>
    const received: Buffer[] = []
    const take = async () => {
      for await (const piece of pieces) received.push(piece)
    }
    received.push((await pieces.next()).value as Buffer)
    await rename('attributes', 'renamed')
    try {
      await expect(take()).rejects.toThrow('aborted')
    } finally {
      await rename('renamed', 'attributes')
    }
    expect(response.complete).toBe(false)
    const text = Buffer.concat(received).toString()
    const before = toLines(text.slice(0, text.lastIndexOf('\n') + 1))
    expect(before.length).toBeLessThan(all.length)
    const rest = await readExport(server, `${usersPath(as)}?after=${before.at(-1)?.cursor}`, as)
    expect([...idsOf(before), ...idsOf(rest)]).toEqual(all)
  })
})
