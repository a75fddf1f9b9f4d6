// Checks the idempotency keys that the database stores for a log that cannot store them itself.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { idempotencyKeysIn } from '../../src/store/entries/idempotency-keys.ts'
import type { Database } from '../../src/store/store.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'

const NOW = 1_790_000_000_000
const LIFETIME_MS = 1_000

describeEachStore('Idempotency keys', (kind) => {
  let location: TestLocation
  let database: Database
  let keys: ReturnType<typeof idempotencyKeysIn>

  beforeEach(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    keys = idempotencyKeysIn(database)
  })
  afterEach(async () => {
    await database.close()
    await location.remove()
  })

  const claimOf = (requestId: string, changes: { key?: string; workspaceId?: string; receivedAt?: number } = {}) => {
    return { workspaceId: 'main', key: 'k', hash: `hash of ${requestId}`, requestId, receivedAt: NOW, ...changes }
  }
  const claim = async (...claims: ReturnType<typeof claimOf>[]) => {
    const held = await keys.claim(claims, LIFETIME_MS)
    return held.map(({ requestId, hash, isPublished }) => {
      expect(hash).toBe(`hash of ${requestId}`)
      return isPublished ? `${requestId} published` : requestId
    })
  }

  it('belong to the first request that claims them', async () => {
    expect(await claim(claimOf('r1'))).toEqual(['r1'])
    expect(await claim(claimOf('r2'))).toEqual(['r1'])
    expect(await claim(claimOf('r1'))).toEqual(['r1'])
  })

  it('are claimed independently of others in the same call, with the results in order', async () => {
    await claim(claimOf('r1', { key: 'b' }))
    const others = [claimOf('r4', { key: 'c' }), claimOf('r2', { key: 'b' }), claimOf('r3', { key: 'a' })]
    expect(await claim(...others, claimOf('r5', { key: 'b', workspaceId: 'other' }))).toEqual(['r4', 'r1', 'r3', 'r5'])
  })

  it('can be marked as published only by their holder', async () => {
    await claim(claimOf('r1'), claimOf('r2', { key: 'other' }))
    await keys.markPublished([claimOf('r1'), claimOf('stranger', { key: 'other' })])
    expect(await claim(claimOf('r3'), claimOf('r4', { key: 'other' }))).toEqual(['r1 published', 'r2'])
  })

  it.each([
    [LIFETIME_MS - 1, 'r1 published'],
    [LIFETIME_MS, 'r2'],
  ])('expire after a second: claimed %i ms later', async (laterMs, holder) => {
    await claim(claimOf('r1'))
    await keys.markPublished([claimOf('r1')])
    expect(await claim(claimOf('r2', { receivedAt: NOW + laterMs }))).toEqual([holder])
  })

  it('last for a full second again when another request claims them after expiry', async () => {
    await claim(claimOf('r1'))
    expect(await claim(claimOf('r2', { receivedAt: NOW + LIFETIME_MS }))).toEqual(['r2'])
    expect(await claim(claimOf('r3', { receivedAt: NOW + 2 * LIFETIME_MS - 1 }))).toEqual(['r2'])
  })

  it('have one holder each when many requests claim them at the same time', async () => {
    const others = await openTestDatabase(location)
    const othersKeys = idempotencyKeysIn(others)
    const groups = Array.from({ length: 20 }, (_, group) => {
      const claims = Array.from({ length: 30 }, (_value, index) => claimOf(`r${group}`, { key: `k${index}` }))
      return (group % 2 === 0 ? keys : othersKeys).claim(group % 3 === 0 ? claims : claims.toReversed(), LIFETIME_MS)
    })
    const held = await Promise.all(groups)
    const [expected] = held
    for (const [group, holders] of held.entries()) {
      expect(group % 3 === 0 ? holders : holders.toReversed()).toEqual(expected)
    }
    await others.close()
  })

  it('are deleted in bounded steps, and only the old ones', async () => {
    const old = Array.from({ length: 2_500 }, (_, index) => claimOf('old', { key: `k${index}` }))
    await claim(...old, claimOf('young', { key: 'young', receivedAt: NOW + 1 }))
    expect([await keys.forget(NOW + 1), await keys.forget(NOW + 1), await keys.forget(NOW + 1)]).toEqual([
      true,
      false,
      false,
    ])
    expect(await claim(claimOf('r1', { key: 'k7' }), claimOf('r2', { key: 'young' }))).toEqual(['r1', 'young'])
  })
})
