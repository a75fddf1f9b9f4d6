// `key generate` as an operator calls it, on every store: what becomes of the old key, and what is known of the new one.
import { userInfo } from 'node:os'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { hashKey, type ApiKeys } from '../../src/store/workspaces/api-key.ts'
import { findWorkspace } from '../../src/store/workspaces/workspaces.ts'
import { callCommand } from '../support/calls/call-command.ts'
import { environmentOf, failureOf, type Environment } from '../support/program.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'

const HOUR_MS = 60 * 60 * 1000

interface MadeKey {
  readonly key: string
  readonly previous_valid_until: string | null
}

describeEachStore('The command that makes keys', (kind) => {
  let location: TestLocation
  let environment: Environment

  beforeAll(async () => {
    location = await makeStore(kind)
    environment = environmentOf(location)
    await callCommand(['workspace', 'create', 'main'], environment)
  })
  afterAll(() => location.remove())

  const generate = (...options: string[]) =>
    callCommand(['key', 'generate', 'main', 'data', ...options, '--yes'], environment)
  const readKeys = async (): Promise<ApiKeys> => {
    const database = await openTestDatabase(location)
    const stored = await findWorkspace(database, 'main')
    await database.close()
    return stored?.keys as ApiKeys
  }
  const by = `command:${userInfo().username}`

  it('says who made the keys of a new workspace, and when', async () => {
    const { data, reports } = await readKeys()
    expect([data.createdBy, reports.createdBy]).toEqual([by, by])
    expect(Math.abs(Date.now() - (data.createdAt ?? 0))).toBeLessThan(HOUR_MS)
  })

  it('keeps the old key for as long as --keep-old says', async () => {
    const old = (await readKeys()).data.hash
    const from = Date.now()
    const { status, body, text } = await generate('--keep-old', '24')
    const { key, previous_valid_until: until } = body as MadeKey
    expect({ status, text }).toEqual({ status: 0, text: `${key}\n` })
    const { data } = await readKeys()
    const validUntil = Date.parse(until ?? '')
    expect(data).toMatchObject({ hash: hashKey(key), createdBy: by, previous: { hash: old, validUntil } })
    expect(validUntil).toBeGreaterThanOrEqual(from + 24 * HOUR_MS)
    expect(validUntil).toBeLessThanOrEqual(Date.now() + 24 * HOUR_MS)
  })

  it('keeps no old key without --keep-old, not even one that was kept before', async () => {
    await generate('--keep-old', '1')
    expect((await generate()).body).toMatchObject({ previous_valid_until: null })
    expect((await readKeys()).data.previous).toBeNull()
  })

  it.each(['25', '-1', '1.5', 'x', ''])('does not keep a key for %j hours', async (hours) => {
    const before = await readKeys()
    const refused = failureOf(await generate(`--keep-old=${hours}`).then((called) => ({ ...called, stderr: '' })))
    expect(refused).toMatchObject({ status: 1, code: 'invalid_request', fields: ['--keep-old'] })
    expect(await readKeys()).toEqual(before)
  })
})
