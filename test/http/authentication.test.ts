// Authentication through real HTTP, on every store ("Authentication", "Tiles"): which requests pass, and when changes take effect.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LIMIT_DEFAULTS } from '../../src/core/workspace.ts'
import type { ErrorBody } from '../../src/http/answers/error-answer.ts'
import { generateKey, hashKey } from '../../src/store/workspaces/api-key.ts'
import { createWorkspace } from '../../src/actions/create-workspace.ts'
import { replaceKey } from '../../src/actions/workspaces/replace-key.ts'
import type { Database } from '../../src/store/store.ts'
import { findWorkspace, saveSettings, type StoredWorkspace } from '../../src/store/workspaces/workspaces.ts'
import { Authentication, readBasic } from '../../src/http/authentication.ts'
import { KeyUses } from '../../src/http/key-uses.ts'
import { REFRESH_MS, WorkspaceRegistry } from '../../src/http/workspace-registry.ts'
import { changedByTest } from '../support/audit/changed-by.ts'
import { meddled } from '../support/meddled-store.ts'
import { recordQueries, watchRows } from '../support/record-queries.ts'
import {
  expectRefusal,
  startServer,
  until,
  type Answer,
  type TestServer,
  type TestWorkspace,
} from '../support/server.ts'
import { describeEachStore, openTestDatabase } from '../support/stores.ts'

/** How soon a change made by another process must take effect. */
const KNOWN_AFTER_MS = 1_000
const FAILURES_PER_MINUTE = 100

const encode = (text: string | Uint8Array) => Buffer.from(text).toString('base64')
const basic = (user: string, key: string) => `Basic ${encode(`${user}:${key}`)}`

describeEachStore('Authentication', (kind) => {
  let server: TestServer
  /** The same store as another process sees it. */
  let elsewhere: Database
  /** What a client sees after a wrong key. */
  let failure: object

  beforeAll(async () => {
    server = await startServer(kind)
    elsewhere = await openTestDatabase(server)
    failure = visibleTo(await read(basic('main', 'wrong')))
  })
  afterAll(async () => {
    await elsewhere.close()
    await server.stop()
  })

  /** Reads a list that the tile `data` may read, authenticated by this header alone. */
  const read = (authorization: string | undefined, id = 'main') => {
    return server.call<ErrorBody>('GET', `/v1/event/${id}?customer_id=c1`, { as: null, headers: { authorization } })
  }
  /** As another process would. */
  const replaceDataKey = async (workspaceId: string, oldKeyValidHours: number) => {
    const replacement = { tile: 'data', oldKeyValidHours, by: changedByTest(workspaceId) } as const
    return (await elsewhere.write((store) => replaceKey(store, replacement))).key
  }
  const readAs = ({ id, dataKey }: TestWorkspace) => read(basic(id, dataKey), id)

  it('accepts the workspace id as user name and an API key as password', async () => {
    expect((await read(basic('main', server.workspace.dataKey))).status).toBe(200)
  })

  const accepted: [what: string, header: (credentials: string) => string][] = [
    ['a lower-case scheme', (credentials) => `basic ${encode(credentials)}`],
    ['a scheme in capitals', (credentials) => `BASIC ${encode(credentials)}`],
    ['several spaces', (credentials) => `Basic   ${encode(credentials)}`],
    ['base64 without padding', (credentials) => `Basic ${encode(credentials).replaceAll('=', '')}`],
    ['the base64 alphabet for URLs', (credentials) => `Basic ${Buffer.from(credentials).toString('base64url')}`],
  ]
  it.each(accepted)('accepts %s', async (_what, header) => {
    expect((await read(header(`main:${server.workspace.dataKey}`))).status).toBe(200)
  })

  const failures: [what: string, header: (key: string, otherKey: string) => string | undefined][] = [
    ['no header', () => undefined],
    ['an empty header', () => ''],
    ['the scheme alone', () => 'Basic'],
    ['the scheme and spaces', () => 'Basic   '],
    ['another scheme', (key) => `Bearer ${key}`],
    ['credentials that are not encoded', (key) => `Basic main:${key}`],
    ['broken base64', (key) => `Basic ${encode(`main:${key}`).slice(0, -6)}!*`],
    ['one character of base64', () => 'Basic a'],
    ['text after the credentials', (key) => `${basic('main', key)} x`],
    ['no colon', (key) => `Basic ${encode(`main${key}`)}`],
    ['only a colon', () => `Basic ${encode(':')}`],
    ['no user name', (key) => basic('', key)],
    ['no password', () => basic('main', '')],
    ['bytes that are not UTF-8', () => `Basic ${encode(Uint8Array.of(0x6d, 0x61, 0x69, 0x6e, 0x3a, 0xff, 0xfe))}`],
    ['NUL in the user name', (key) => basic('main\0', key)],
    ['an unknown workspace', (key) => basic('nobody', key)],
    ['a workspace id in capitals', (key) => basic('MAIN', key)],
    ['a user name that is not a workspace id', (key) => basic("' or ''='", key)],
    ['a very long user name', (key) => basic('m'.repeat(5_000), key)],
    ['a wrong key', () => basic('main', generateKey('data'))],
    ['a key in capitals', (key) => basic('main', key.toUpperCase())],
    ['a truncated key', (key) => basic('main', key.slice(0, -1))],
    ['text after the key', (key) => basic('main', `${key} `)],
    ['the hash of the key', (key) => basic('main', hashKey(key))],
    ['the hash of an unknown workspace', () => basic('nobody', '0'.repeat(64))],
    ['a key of another workspace', (_key, otherKey) => basic('main', otherKey)],
  ]
  it.each(failures)('refuses %s with the same answer as every other failure', async (_what, header) => {
    const other = await server.makeWorkspace()
    const answer = await read(header(server.workspace.dataKey, other.dataKey))
    expectRefusal(answer, 401, 'unauthorized')
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /)
    expect(visibleTo(answer)).toEqual(failure)
  })

  it('names the scheme and the credentials it needs', async () => {
    const { body } = await read(`Bearer ${server.workspace.dataKey}`)
    expect(body.error.message).toBe(
      'The Authorization header is missing or wrong. Send "Basic", a space, and the base64 of id:key, a workspace id and one of its API keys.',
    )
  })

  it('sends the same query for every kind of failure, so that all take equally long', async () => {
    const sent = new Set<string>()
    for (const [, header] of failures) {
      const queries = await recordQueries(server.database, async (store) => {
        const registry = new WorkspaceRegistry({ ...server.database, query: store.query })
        const attempt = readBasic(header(server.workspace.dataKey, 'x'))
        await expect(
          new Authentication(registry, new KeyUses()).authenticate(attempt, () => '192.0.2.1', 0),
        ).rejects.toThrow('Authorization')
      })
      sent.add(JSON.stringify(queries.map((query) => query.compile()).map(({ sql, parameters }) => [sql, parameters])))
      expect(queries).toHaveLength(1)
    }
    expect(sent.size).toBe(1)
  })

  it('sends one query for all failures at the same time', async () => {
    const queries = await recordQueries(server.database, async (store) => {
      const registry = new WorkspaceRegistry({ ...server.database, query: store.query })
      const authentication = new Authentication(registry, new KeyUses())
      const fail = (user: string) => authentication.authenticate(readBasic(basic(user, 'x')), () => '192.0.2.1', 0)
      const outcomes = await Promise.allSettled(['main', 'nobody', 'main', 'nowhere'].map(fail))
      expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true)
    })
    expect(queries).toHaveLength(1)
  })

  it('counts failures of addresses beyond ten thousand a minute together', async () => {
    const nothingNew = { refreshShared: async () => {}, awaitRefresh: async () => {} }
    const registry = Object.assign(new WorkspaceRegistry(server.database), nothingNew)
    const authentication = new Authentication(registry, new KeyUses())
    const attempt = readBasic(basic('main', 'wrong'))
    const fail = async (address: string) => {
      const failing = Promise.resolve(authentication.authenticate(attempt, () => address, 0))
      return failing.catch(({ code }: { code: string }) => code)
    }
    for (let at = 0; at < 10_000; at++) expect(await fail(`known-${at}`)).toBe('unauthorized')
    for (let at = 0; at < 100; at++) expect(await fail(`other-${at}`)).toBe('unauthorized')
    expect(await fail('other-100')).toBe('rate_limited')
    expect(await fail('known-1')).toBe('unauthorized')
  })

  it('comes after the refusal of an unknown path or method', async () => {
    expect((await server.call('GET', '/v1/nothing', { as: null })).status).toBe(404)
    expect((await server.call('DELETE', '/v1/event/main', { as: null })).status).toBe(405)
  })

  it.each([
    ['data', 'reports', 'GET', '/v1/event/main?customer_id=c1'],
    ['reports', 'data', 'POST', '/core-services/v1/campaign-stats'],
  ] as const)(
    'refuses a valid key of the wrong tile with a 403 that names the tile %s',
    async (needed, tile, method, path) => {
      const answer = await server.call<ErrorBody>(method, path, { tile, ...(method === 'POST' && { body: {} }) })
      expectRefusal(answer, 403, 'forbidden')
      expect(answer.body.error.message).toContain(`"${needed}"`)
      expect((await server.call(method, path, { tile: needed })).status).not.toBe(403)
    },
  )

  it('refuses another workspace in the path with 403', async () => {
    const other = await server.makeWorkspace()
    expectRefusal(await read(basic(other.id, other.dataKey), 'main'), 403, 'forbidden', ['path.Workspace_ID'])
  })

  it('accepts a new workspace at once, even if another process created it', async () => {
    for (const id of ['made-1', 'made-2', 'made-3']) {
      expect((await readAs(await createWorkspace(elsewhere, id, {}, Date.now()))).status).toBe(200)
    }
  })

  it('applies newer settings that allow more at once, even if another process saved them', async () => {
    const workspace = await createWorkspace(elsewhere, 'changed', {}, Date.now())
    const body = { type: 'event', user_identifiers: { crm: '1' }, actions: [{ action: 'A' }] }
    const track = () => server.call('POST', `/v1/event/${workspace.id}`, { as: workspace, body })
    const resolveBy = (...identityResolution: string[]) => {
      return elsewhere.write(async (store) => {
        const { workspace: known } = (await findWorkspace(store, workspace.id)) as StoredWorkspace
        await saveSettings(store, workspace.id, { ...known, identityResolution })
      })
    }
    expectRefusal(await track(), 400, 'invalid_request', ['customer_id'])
    await resolveBy('crm')
    expect((await track()).status).toBe(200)
    await resolveBy()
    await until('the settings are applied', async () => (await track()).status === 400)
    await resolveBy('crm', 'svc_mobile')
    expect((await track()).status).toBe(200)
  })

  it('refuses a workspace that newer settings suspend, even if they allow more otherwise', async () => {
    const workspace = await createWorkspace(elsewhere, 'halted', {}, Date.now())
    const body = { type: 'event', user_identifiers: { crm: '1' }, actions: [{ action: 'A' }] }
    const track = () => server.call('POST', `/v1/event/${workspace.id}`, { as: workspace, body })
    expectRefusal(await track(), 400, 'invalid_request', ['customer_id'])
    await elsewhere.write(async (store) => {
      const { workspace: known } = (await findWorkspace(store, workspace.id)) as StoredWorkspace
      await saveSettings(store, workspace.id, { ...known, identityResolution: ['crm'], suspended: true })
    })
    expectRefusal(await track(), 403, 'forbidden')
  })

  it('keeps the newer of two concurrent reads of a workspace', async () => {
    const { id } = await server.makeWorkspace()
    const changing = meddled(elsewhere, 'workspaces', async () => {
      await elsewhere.write(async (store) => {
        const { workspace } = (await findWorkspace(store, id)) as StoredWorkspace
        await saveSettings(store, id, { ...workspace, suspended: true })
      })
      await registry.refresh()
    })
    const registry = new WorkspaceRegistry(changing)
    await registry.refresh()
    expect(registry.get(id)?.workspace.suspended).toBe(true)
  })

  it('queries the database once for all requests that are about to be refused', async () => {
    const queries = await recordQueries(elsewhere, async (store) => {
      const registry = new WorkspaceRegistry({ ...elsewhere, query: store.query })
      await Promise.all(Array.from({ length: 20 }, () => registry.refreshSoon()))
      expect(registry.get('main')?.workspace.id).toBe('main')
      await registry.refreshSoon()
    })
    expect(queries).toHaveLength(2)
  })

  it('accepts a new key at once and refuses the old one after a second, even if another process created it', async () => {
    const workspace = await createWorkspace(elsewhere, 'rekeyed', {}, Date.now())
    expect((await readAs(workspace)).status).toBe(200)
    const newKey = await replaceDataKey(workspace.id, 0)
    expect((await read(basic(workspace.id, newKey), workspace.id)).status).toBe(200)
    await until('the old key fails', async () => (await readAs(workspace)).status === 401)
    expect(REFRESH_MS).toBeLessThan(KNOWN_AFTER_MS)
    // The key of the other tile does not change.
    const stats = { as: workspace, tile: 'reports', body: {} } as const
    expect((await server.call('POST', '/core-services/v1/campaign-stats', stats)).status).toBe(400)
  })

  it('refuses a suspended workspace with 403 after a second, even if another process suspended it', async () => {
    const workspace = await createWorkspace(elsewhere, 'suspended', {}, Date.now())
    expect((await readAs(workspace)).status).toBe(200)
    for (const [suspended, status] of [
      [true, 403],
      [false, 200],
    ] as const) {
      await elsewhere.write(async (store) => {
        const { workspace: known } = (await findWorkspace(store, workspace.id)) as StoredWorkspace
        await saveSettings(store, workspace.id, { ...known, suspended })
      })
      await until(`it answers ${status}`, async () => (await readAs(workspace)).status === status)
    }
  })

  it('refuses a wrong key first, then a suspended workspace, then a wrong tile', async () => {
    const workspace = await server.makeWorkspace({ suspended: true })
    const stats = (options: object) => server.call<ErrorBody>('POST', '/core-services/v1/campaign-stats', options)
    const suspended = await stats({ as: workspace, tile: 'data', body: {} })
    expectRefusal(suspended, 403, 'forbidden')
    expect(suspended.body.error.message).toContain('suspended')
    expectRefusal(await read(basic(workspace.id, 'wrong'), workspace.id), 401, 'unauthorized')
  })

  it('takes nothing from the limits of a workspace when it fails', async () => {
    const limits = { ...LIMIT_DEFAULTS, management_per_minute: 2 }
    const workspace = await server.makeWorkspace({ limits })
    for (let count = 0; count < 5; count++) {
      const failure = await read(basic(workspace.id, 'wrong'), workspace.id)
      expect([...failure.headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([])
    }
    expect((await readAs(workspace)).headers.get('x-ratelimit-remaining')).toBe('1')
  })
})

describeEachStore('Failed authentication from one address', (kind) => {
  const minute = Date.UTC(2030, 0, 1, 12)
  let server: TestServer

  beforeAll(async () => {
    server = await startServer(kind, { TRUSTED_PROXIES: '127.0.0.1' })
    server.setClock(minute)
  })
  afterAll(() => server.stop())

  const read = (key: string | undefined, from: string) => {
    const headers = { authorization: key === undefined ? key : basic('main', key), 'x-forwarded-for': from }
    return server.call('GET', '/v1/event/main?customer_id=c1', { as: null, headers })
  }

  it('gets 429 after 100 failures a minute, while a valid key and other addresses pass', async () => {
    const [here, there] = ['198.51.100.1', '198.51.100.2']
    const failures = Array.from({ length: FAILURES_PER_MINUTE }, () => read('wrong', here))
    expect(new Set((await Promise.all(failures)).map(({ status }) => status))).toEqual(new Set([401]))
    server.setClock(minute + 18_500)
    const refused = await read('wrong', here)
    expectRefusal(refused, 429, 'rate_limited')
    expect(refused.headers.get('retry-after')).toBe('42')
    expect((await read(server.workspace.dataKey, here)).status).toBe(200)
    expectRefusal(await read('wrong', here), 429, 'rate_limited')
    expectRefusal(await read('wrong', there), 401, 'unauthorized')
    server.setClock(minute + 60_000)
    expectRefusal(await read('wrong', here), 401, 'unauthorized')
  })

  it('does not count requests without the header, as clients may wait for a 401 to send their key', async () => {
    const from = '198.51.100.5'
    const unasked = Array.from({ length: FAILURES_PER_MINUTE + 1 }, () => read(undefined, from))
    expect(new Set((await Promise.all(unasked)).map(({ status }) => status))).toEqual(new Set([401]))
    const failures = Array.from({ length: FAILURES_PER_MINUTE }, () => read('wrong', from))
    expect(new Set((await Promise.all(failures)).map(({ status }) => status))).toEqual(new Set([401]))
    expectRefusal(await read('wrong', from), 429, 'rate_limited')
    expectRefusal(await read(undefined, from), 401, 'unauthorized')
  })

  it('queries the database no more after 100 failures, and yet accepts a key that another process made just now', async () => {
    const elsewhere = await openTestDatabase(server)
    const { database, rowsOfQueries } = watchRows(elsewhere)
    const registry = new WorkspaceRegistry(database)
    const authentication = new Authentication(registry, new KeyUses())
    const authenticate = (user: string, key: string) =>
      authentication.authenticate(readBasic(basic(user, key)), () => '192.0.2.1', minute)
    for (let count = 0; count < FAILURES_PER_MINUTE; count++) {
      await expect(authenticate('main', 'wrong')).rejects.toMatchObject({ code: 'unauthorized' })
    }
    const before = rowsOfQueries.length
    const attempts: Promise<unknown>[] = []
    const codeOf = (attempt: Promise<unknown>) => attempt.catch(({ code }: { code: string }) => code)
    for (const user of ['main', 'nobody', 'main', 'nobody', 'main']) {
      attempts.push(codeOf(authenticate(user, 'wrong')))
      // A query of the attempt would be answered before this one.
      await findWorkspace(elsewhere, user)
    }
    expect(rowsOfQueries).toHaveLength(before)
    const made = await createWorkspace(elsewhere, `made-for-${kind}`, {}, Date.now())
    const accepted = authenticate(made.id, made.dataKey)
    // Reads everything, and later what changed, no matter what is tried.
    await registry.start({ onError() {}, onChange() {} })
    expect(new Set(await Promise.all(attempts))).toEqual(new Set(['rate_limited']))
    expect(await accepted).toMatchObject({ workspace: { id: made.id } })
    registry.stop()
    expect(rowsOfQueries).toHaveLength(before + 2)
    await elsewhere.close()
  })

  const alike: [name: string, from: (attempt: number) => string][] = [
    ['another port', (attempt) => `198.51.100.3:${1_024 + attempt}`],
    ['another port of an IPv6 address', (attempt) => `[2001:db8::3]:${1_024 + attempt}`],
    ['another entry that is not an address', (attempt) => `nowhere-${attempt}`],
  ]
  it.each(alike)('counts as one address what a trusted proxy reports with %s each time', async (_name, from) => {
    const failures = Array.from({ length: FAILURES_PER_MINUTE }, (_, attempt) => read('wrong', from(attempt)))
    expect(new Set((await Promise.all(failures)).map(({ status }) => status))).toEqual(new Set([401]))
    expectRefusal(await read('wrong', from(FAILURES_PER_MINUTE)), 429, 'rate_limited')
  })
})

/** What a client without a key can distinguish: the answer without its id and date. */
function visibleTo({ status, headers, body }: Answer<ErrorBody>): object {
  const shown = [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date')
  return { status, headers: Object.fromEntries(shown), body: { ...body, error: { ...body.error, request_id: '' } } }
}
