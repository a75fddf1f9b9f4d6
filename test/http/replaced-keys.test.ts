// Replaced API keys through real HTTP, on every store: how long the old one is valid, and what is known of both.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { replaceKey } from '../../src/actions/workspaces/replace-key.ts'
import { KEY_TILES, type KeyTile } from '../../src/core/accounts/key-tile.ts'
import { KeyUses } from '../../src/http/key-uses.ts'
import { generateKey, hashKey, matchTile, type ApiKeys } from '../../src/store/workspaces/api-key.ts'
import { findKeyUses, saveKeyUses, type KeyUse } from '../../src/store/workspaces/key-uses.ts'
import { findWorkspace } from '../../src/store/workspaces/workspaces.ts'
import { changedByTest } from '../support/audit/changed-by.ts'
import { RawConnection } from '../support/raw-http.ts'
import { startServer, until, type TestServer, type TestWorkspace } from '../support/server.ts'
import { describeEachStore } from '../support/stores.ts'

const NOON = Date.UTC(2030, 5, 15, 12)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

describeEachStore('A replaced key', (kind) => {
  let server: TestServer
  let workspace: TestWorkspace

  beforeAll(async () => void (server = await startServer(kind)))
  afterAll(() => server.stop())
  beforeEach(async () => {
    server.setClock(NOON)
    workspace = await server.makeWorkspace()
  })

  const replace = async (hours: number, now = NOON, tile: KeyTile = 'data') => {
    const replacement = { tile, oldKeyValidHours: hours, by: changedByTest(workspace.id, now) }
    return server.database.write((store) => replaceKey(store, replacement))
  }
  const track = async (dataKey: string) => {
    const body = { type: 'event', customer_id: 'c1', actions: [{ action: 'Visit' }] }
    return (await server.call('POST', `/v1/event/${workspace.id}`, { as: { ...workspace, dataKey }, body })).status
  }
  const list = async (dataKey: string) => {
    const options = { as: { ...workspace, dataKey } }
    return (await server.call('GET', `/v1/workspaces/${workspace.id}/categories`, options)).status
  }
  const ends = (dataKey: string) => until('the old key fails', async () => (await list(dataKey)) === 401)
  const storedKeys = async () => (await findWorkspace(server.database, workspace.id))?.keys as ApiKeys

  it('stays valid until its time, and ends then although nothing changes in the store', async () => {
    const { key, previousValidUntil } = await replace(2)
    expect(previousValidUntil).toBe(NOON + 2 * HOUR_MS)
    for (const [at, old] of [
      [NOON, 200],
      [NOON + 2 * HOUR_MS - 1, 200],
      [NOON + 2 * HOUR_MS, 401],
      [NOON + 30 * HOUR_MS, 401],
    ] as const) {
      server.setClock(at)
      // Frequent operations take the fast path; all others are read by Node.
      expect([await track(workspace.dataKey), await list(workspace.dataKey)]).toEqual([old, old])
      expect([await track(key), await list(key)]).toEqual([200, 200])
    }
  })

  it('ends on a connection that it has used before', async () => {
    await replace(1)
    const connection = await RawConnection.open(server.url)
    const statuses: number[] = []
    for (const at of [NOON, NOON + HOUR_MS - 1, NOON + HOUR_MS]) {
      server.setClock(at)
      await connection.write(requestOf(workspace))
      statuses.push((await connection.nextAnswer()).status)
    }
    connection.close()
    expect(statuses).toEqual([200, 200, 401])
  })

  it('ends within a second without an overlap', async () => {
    const { key, previousValidUntil } = await replace(0)
    expect(previousValidUntil).toBeNull()
    expect(await list(key)).toBe(200)
    await ends(workspace.dataKey)
  })

  it('that was kept ends when the key is replaced again', async () => {
    const { key } = await replace(24)
    expect(await list(workspace.dataKey)).toBe(200)
    const { key: newest } = await replace(24)
    expect([await list(newest), await list(key)]).toEqual([200, 200])
    await ends(workspace.dataKey)
    expect([await list(newest), await list(key)]).toEqual([200, 200])
  })

  it('leaves the key of the other tile as it is, which keeps what is known of it', async () => {
    await replace(24, NOON, 'reports')
    const before = await storedKeys()
    await replace(0)
    const { data, reports } = await storedKeys()
    expect(reports).toEqual(before.reports)
    expect(data).toEqual({
      hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      createdAt: NOON,
      createdBy: 'command:test',
      previous: null,
    })
  })

  it('from before an upgrade has no known beginning', async () => {
    await server.database.write(async ({ query }) => {
      await query.updateTable('workspaces').set({ key_details: '{}' }).where('id', '=', workspace.id).execute()
    })
    const { data } = await storedKeys()
    expect(data).toEqual({ hash: hashKey(workspace.dataKey), createdAt: null, createdBy: null, previous: null })
    await replace(1)
    expect((await storedKeys()).data.previous).toEqual({ hash: data.hash, validUntil: NOON + HOUR_MS })
  })

  it('is used once a minute at most, as the store sees it, and a new key was never used', async () => {
    const uses = async () => findKeyUses(server.database, workspace.id)
    const usedAt = async (key: string) => (await uses()).get(hashKey(key))
    const noted = (key: string, at: number) => until('the use is stored', async () => (await usedAt(key)) === at)
    expect(await usedAt(workspace.dataKey)).toBeUndefined()
    await track(workspace.dataKey)
    await noted(workspace.dataKey, NOON)
    server.setClock(NOON + MINUTE_MS - 1)
    await list(workspace.dataKey)
    server.setClock(NOON + MINUTE_MS)
    await list(workspace.dataKey)
    await noted(workspace.dataKey, NOON + MINUTE_MS)
    const { key } = await replace(1)
    expect(await usedAt(key)).toBeUndefined()
    await list(key)
    await noted(key, NOON + MINUTE_MS)
    expect((await uses()).size).toBe(2)
    await replace(0)
    expect((await uses()).size).toBe(0)
  })

  it('is not used by those who do not know it', async () => {
    expect(await list(generateKey('data'))).toBe(401)
    await list(workspace.dataKey)
    await until('the use is stored', async () => (await findKeyUses(server.database, workspace.id)).size > 0)
    expect((await findKeyUses(server.database, workspace.id)).size).toBe(1)
  })

  it('keeps the latest use of several that processes store in any order', async () => {
    const use = (usedAt: number): KeyUse => ({ workspaceId: workspace.id, keyHash: 'x', usedAt })
    for (const at of [5, 9, 7]) await server.database.write((store) => saveKeyUses(store, [use(at)]))
    expect((await findKeyUses(server.database, workspace.id)).get('x')).toBe(9)
  })
})

describe('A match of a key', () => {
  const keyOf = (hash: string, previous: ApiKeys['data']['previous'] = null) => {
    return { hash: hashKey(hash), createdAt: null, createdBy: null, previous }
  }
  const keys: ApiKeys = { data: keyOf('d', { hash: hashKey('old'), validUntil: 10 }), reports: keyOf('r') }

  it.each<[key: string, now: number, tile: KeyTile | undefined]>([
    ['d', 99, 'data'],
    ['r', 99, 'reports'],
    ['old', 9, 'data'],
    ['old', 10, undefined],
    ['x', 0, undefined],
  ])('of %j at %i is %s', (key, now, tile) => {
    expect(matchTile(hashKey(key), keys, now)).toBe(tile)
  })

  it('finds nothing by the hash that stands for no key', () => {
    const nothing: ApiKeys = { data: { ...keyOf(''), hash: '0'.repeat(64) }, reports: keyOf('r') }
    expect(KEY_TILES.map((tile) => matchTile(hashKey(tile), nothing, -Infinity))).toEqual([undefined, undefined])
  })
})

describe('Uses of keys in memory', () => {
  const collect = async (uses: KeyUses) => {
    const saved: (readonly [string, number])[] = []
    await uses.save(async (some) => void saved.push(...some.map(({ keyHash, usedAt }) => [keyHash, usedAt] as const)))
    return saved
  }

  it('are saved once, each key at most once a minute, also after the clock was set back', async () => {
    const uses = new KeyUses()
    for (const [key, at] of [
      ['a', 0],
      ['a', 59_999],
      ['b', 1],
    ] as const) {
      uses.note('main', key, at)
    }
    expect(await collect(uses)).toEqual([
      ['a', 0],
      ['b', 1],
    ])
    expect(await collect(uses)).toEqual([])
    uses.note('main', 'a', 60_000)
    expect(await collect(uses)).toEqual([['a', 60_000]])
    uses.note('main', 'a', 0)
    expect(await collect(uses)).toEqual([['a', 0]])
  })

  it('are saved again after a save that failed, unless there is a newer one', async () => {
    const uses = new KeyUses()
    uses.note('main', 'a', 0)
    uses.note('main', 'b', 0)
    const failing = uses.save(async () => {
      uses.note('main', 'a', 60_000)
      throw new Error('the store is away')
    })
    await expect(failing).rejects.toThrow('the store is away')
    expect(new Map(await collect(uses))).toEqual(
      new Map([
        ['a', 60_000],
        ['b', 0],
      ]),
    )
  })
})

function requestOf({ id, dataKey }: TestWorkspace): string {
  const body = JSON.stringify({ type: 'event', customer_id: 'c1', actions: [{ action: 'Visit' }] })
  const lines = [
    `POST /v1/event/${id} HTTP/1.1`,
    'host: tidings.test',
    `authorization: Basic ${Buffer.from(`${id}:${dataKey}`).toString('base64')}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}
