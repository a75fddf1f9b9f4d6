// Checks an embedded server that an operator moves into PostgreSQL by `tidings move` and then serves from there.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { answersOf, fillServer, SETTINGS, type FilledServer } from '../support/filled-server.ts'
import { addAlert } from '../../src/store/coupons/coupon-alerts.ts'
import { addCodes, reserveCouponIds } from '../../src/store/coupons/coupons.ts'
import { openUpload } from '../../src/store/coupons/coupon-uploads.ts'
import type { Database } from '../../src/store/store.ts'
import { failureOf, run, runJson, type EndedJson } from '../support/program.ts'
import { startServer, type TestServer, type TestWorkspace } from '../support/server.ts'
import { describeOnPostgres, makeLocation, openTestDatabase, type TestLocation } from '../support/stores.ts'
import { trackingOf } from '../support/calls/tracking.ts'
import { MAILING_ENVIRONMENT } from '../support/delivery/filled-mailing.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 })

const PII_KEY = randomBytes(32).toString('base64')
const ENVIRONMENT = { PII_KEY, ...MAILING_ENVIRONMENT }
const EVENTS_PER_ENTRY_MAX = 16_384
const DAY_MS = 86_400_000

interface MovedBody {
  readonly outcome: string
  readonly to: string
  readonly log_position: number
  readonly copied_rows: number
  readonly applied_entries: number
  readonly uploads_rolled_back: number
  readonly parked_entries: number
  readonly needs_pii_key: boolean
  readonly tables: readonly { readonly table: string; readonly equal: boolean; readonly source: { rows: number } }[]
  readonly statistics: readonly object[]
}

describeOnPostgres('A moved server', () => {
  let source: TestLocation
  let target: TestLocation
  let workspace: TestWorkspace
  let filled: FilledServer
  let before: unknown[]
  let whileServed: EndedJson
  let moved: EndedJson
  let server: TestServer

  const move = () => runJson(['move', '--to', target.databaseUrl as string], { DATA_DIR: source.dataDir })
  const startSource = (withPipeline: boolean) => {
    return startServer('sqlite', { PII_KEY }, { withPipeline, at: { ...source, workspace } })
  }

  beforeAll(async () => {
    source = await makeLocation('sqlite')
    target = await makeLocation('postgres')
    const embedded = await startServer('sqlite', ENVIRONMENT, { at: source })
    workspace = embedded.workspace
    filled = await fillServer(embedded)
    before = await answersOf(embedded, filled.questions)
    await embedded.stop()
    whileServed = await leaveUnapplied()
    await leaveBrokenUpload()
    moved = await move()
    server = await startServer('postgres', { PII_KEY }, { at: { ...target, workspace } })
  })
  afterAll(async () => {
    await server.stop()
    await Promise.all([source.remove(), target.remove()])
  })

  /** Leaves three entries that the pipeline has not applied, one of which it cannot apply. */
  async function leaveUnapplied(): Promise<EndedJson> {
    const late = await startSource(false)
    const tracking = trackingOf(late)
    await tracking.events({ type: 'event', customer_id: 'late', actions: [{ action: 'Came' }] })
    await tracking.events({ type: 'event', customer_id: 'late', actions: [{ action: 'Stayed' }] })
    await tracking.events({ type: 'event', user_identifiers: { old: '9' }, actions: [{ action: 'Parked' }] })
    const refused = await move()
    await late.changeSettings(workspace, { ...SETTINGS, identityResolution: ['crm'] })
    await late.stop()
    return refused
  }

  async function leaveBrokenUpload(): Promise<void> {
    const database = await openTestDatabase(source)
    await database.write(async (store) => {
      const firstCouponId = await reserveCouponIds(store, 10)
      await openUpload(store, { listNumber: 1, firstCouponId, heartbeatAt: Date.now() })
      await addCodes(store, 1, firstCouponId, ['cut', 'off'])
      // Without a sender of alerts it is never sent.
      const news = { kind: 'shortage', available: 1 } as const
      await addAlert(store, { listNumber: 1, recipients: ['anna@example.com'], news, now: Date.now() + DAY_MS })
    })
    await database.close()
  }

  it('must be stopped before the move', () => {
    expect(failureOf(whileServed)).toMatchObject({ status: 1, code: 'conflict' })
    expect(failureOf(whileServed)?.message).toContain('is in use')
  })

  it('equals the embedded one, row for row', () => {
    const { tables, statistics, ...body } = moved.body as MovedBody
    expect({ status: moved.status, stderr: moved.stderr }).toEqual({ status: 0, stderr: '' })
    expect(body).toMatchObject({
      outcome: 'moved',
      applied_entries: 3,
      parked_entries: 1,
      uploads_rolled_back: 1,
      needs_pii_key: true,
    })
    expect(tables.filter(({ equal }) => !equal)).toEqual([])
    const filledTables = tables.filter(({ source: { rows } }) => rows > 0).map(({ table }) => table)
    const empty = tables.map(({ table }) => table).filter((table) => !filledTables.includes(table))
    expect(empty.toSorted()).toEqual(['coupon_uploads', 'uncounted_events'])
    expect(body.copied_rows).toBe(tables.reduce((sum, table) => sum + table.source.rows, 0))
    const rightly = { equal: true, differing_cells: 0 }
    expect(statistics).toEqual([
      { ...rightly, workspace_id: 'main', cells: expect.any(Number) as number },
      { ...rightly, workspace_id: 'vault', cells: 0 },
    ])
  })

  it('gives the same responses', async () => {
    // The entries that the move applied change none of these.
    expect(await answersOf(server, filled.questions)).toEqual(before)
  })

  it('has the entries that were not applied before, and parks the one that cannot be', async () => {
    const { body } = await trackingOf(server).listEvents({ customer_id: 'late' })
    expect(body.data.map(({ action }) => action)).toEqual(['Stayed', 'Came'])
    const parked = await runJson(['parked', 'list'], { DATABASE_URL: target.databaseUrl as string })
    expect(parked.body).toMatchObject({ parked: [{ workspace_id: 'main', kind: 'track_events' }] })
  })

  it('does not change when it is moved again', async () => {
    const again = await move()
    expect({ status: again.status, body: again.body }).toMatchObject({ status: 0, body: { outcome: 'already_moved' } })
    expect(await answersOf(server, filled.questions)).toEqual(before)
  })

  it('continues the ids of events and the numbers of users', async () => {
    const tracking = trackingOf(server)
    await tracking.apply(
      { type: 'event', customer_id: 'anna', actions: [{ action: 'Came back' }] },
      { type: 'customer', customer_id: 'first-in-cluster', attributes: {} },
    )
    const { body } = await tracking.listEvents({ customer_id: 'anna' })
    const [newest] = body.data
    expect(newest?.action).toBe('Came back')
    const { log_position: position } = moved.body as MovedBody
    expect(await greatestIds(server.database)).toEqual({
      event: (position + 1) * EVENTS_PER_ENTRY_MAX,
      user: (position + 2) * EVENTS_PER_ENTRY_MAX,
    })
  })

  it('recognises retries of requests to the embedded server', async () => {
    const tracking = trackingOf(server)
    const { body, headers, requestId } = filled.keyed
    const repeated = await tracking.events(body, headers)
    expect({ status: repeated.status, id: repeated.body.request_id }).toEqual({ status: 200, id: requestId })
    expect((await tracking.events({ ...body, actions: [{ action: 'Other' }] }, headers)).status).toBe(409)
    const { path, options, answer } = filled.keyedCreation
    expect((await server.call('POST', path, options)).body).toEqual(answer)
  })

  it('continues to count statistics without a difference', async () => {
    const user_time = '2026-05-04T13:00:00Z'
    await trackingOf(server).apply({ type: 'event', customer_id: 'ben', actions: [{ action: 'Bought', user_time }] })
    const verified = await runJson(['statistics', 'verify'], { DATABASE_URL: target.databaseUrl as string })
    expect(verified).toMatchObject({ status: 0, body: { equal: true, workspaces: [{ differing_cells: 0 }] } })
  })

  it('cannot be moved again once the embedded server has run again', async () => {
    const embedded = await startSource(true)
    expect(await answersOf(embedded, filled.questions)).toEqual(before)
    await trackingOf(embedded).apply({ type: 'event', customer_id: 'anna', actions: [{ action: 'Elsewhere' }] })
    await embedded.stop()
    const again = failureOf(await move())
    expect(again).toMatchObject({ status: 1, code: 'conflict' })
    expect(again?.message).toContain('a server has used it since')
  })

  it('is moved with advice on PII_KEY and the old server, without --json', async () => {
    const other = await makeLocation('postgres')
    const { status, stdout, stderr } = await run(['move', '--to', other.databaseUrl as string], {
      DATA_DIR: source.dataDir,
    })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('same PII_KEY')
    expect(stdout).toContain(`Do not start the old server on ${source.dataDir} again`)
    await other.remove()
  })
})

async function greatestIds({ query }: Database): Promise<{ event: number; user: number }> {
  const event = await query.selectFrom('events').select('id').orderBy('id', 'desc').executeTakeFirstOrThrow()
  const user = await query.selectFrom('users').select('id').orderBy('id', 'desc').executeTakeFirstOrThrow()
  return { event: event.id, user: user.id }
}
