// Checks which old data is deleted while a server runs, and which must wait for entries that are not applied yet.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { forgetOld } from '../../src/jobs/forget-old.ts'
import { openPostgresLogReader } from '../../src/log/postgres/postgres-log-reader.ts'
import { openPostgresLog } from '../../src/log/postgres/postgres-log.ts'
import { SESSION_IDLE_MS } from '../../src/core/accounts/session.ts'
import { addAccessLink } from '../../src/store/accounts/access-links.ts'
import { addSession } from '../../src/store/accounts/sessions.ts'
import { listOpenUploads, openUpload, UPLOAD_ABANDONED_MS } from '../../src/store/coupons/coupon-uploads.ts'
import { findAnsweredKey, saveAnsweredKey } from '../../src/store/entries/answered-keys.ts'
import { findReceipt, saveReceipts } from '../../src/store/entries/request-receipts.ts'
import type { Database } from '../../src/store/store.ts'
import { addImport, findImport, IMPORTS_KEPT_MS } from '../../src/store/users/imports.ts'
import { newEntry } from '../log/log-contract.ts'
import { NOW, openPipelineBench, type PipelineBench } from '../support/pipeline-bench.ts'
import { describeEachStore, describeOnPostgres, makeStore, openTestDatabase } from '../support/stores.ts'
import { DAY_MS } from '../../src/core/time-zone.ts'

describeEachStore('The job that deletes old data', (kind) => {
  let bench: PipelineBench

  beforeAll(async () => {
    bench = await openPipelineBench(kind)
    await bench.makeWorkspace()
  })
  afterAll(() => bench.close())

  const forget = (database = bench.database) => forgetOld({ ...bench, database, clock: () => NOW }).run(() => false)
  const save = (requestId: string, receivedAt: number) => {
    const rest = { status: 'processed' as const, events: 1, duplicates: 0, notCounted: 0, error: null }
    const receipt = { requestId, workspaceId: bench.workspaceId, receivedAt, ...rest }
    return bench.database.write((store) => saveReceipts(store, [receipt]))
  }
  const areStored = (...requestIds: string[]) => {
    return Promise.all(requestIds.map(async (requestId) => (await bench.receipt(requestId)) !== undefined))
  }

  it('deletes receipts after a week, but not while an unapplied entry of that time may be a second copy', async () => {
    await save('a-month', NOW - 30 * DAY_MS)
    await save('before', NOW - 8.5 * DAY_MS)
    await save('recent', NOW - 6 * DAY_MS)
    const body = { type: 'event', customer_id: 'c1', actions: [{ action: 'A' }] }
    await bench.append({ body, receivedAt: NOW - 8 * DAY_MS })
    await forget()
    expect(await areStored('a-month', 'before', 'recent')).toEqual([false, true, true])
    await bench.follow()
    await forget()
    expect(await areStored('before', 'recent')).toEqual([false, true])
  })

  it('keeps receipts for exactly a week, and rolls back abandoned uploads', async () => {
    await save('a-week', NOW - 7 * DAY_MS)
    await save('older', NOW - 7 * DAY_MS - 1)
    const upload = { listNumber: 1, firstCouponId: 1, heartbeatAt: NOW - UPLOAD_ABANDONED_MS }
    await bench.database.write((store) => openUpload(store, upload))
    await forget()
    expect(await areStored('a-week', 'older')).toEqual([true, false])
    expect(await listOpenUploads(bench.database)).toEqual([])
  })

  it('deletes idempotency keys of creations after a day', async () => {
    for (const [key, receivedAt] of [
      ['a-day', NOW - DAY_MS],
      ['older', NOW - DAY_MS - 1],
    ] as const) {
      const used = { workspaceId: bench.workspaceId, key, hash: 'h', requestId: 'r', answer: { id: 1 }, receivedAt }
      expect(await bench.database.write((store) => saveAnsweredKey(store, used, DAY_MS))).toBe(true)
    }
    await forget()
    const found = await Promise.all(
      ['a-day', 'older'].map((key) => findAnsweredKey(bench.database, bench.workspaceId, key)),
    )
    expect(found.map((key) => key?.answer)).toEqual([{ id: 1 }, undefined])
  })

  it('keeps imports for thirty days after their last checkpoint', async () => {
    const nothing = { chunks: 0, hash: '', rows: 0, refused: 0, refusals: [] }
    const { workspaceId, database } = bench
    for (const [id, now] of [
      ['thirty-days', NOW - IMPORTS_KEPT_MS],
      ['older', NOW - IMPORTS_KEPT_MS - 1],
    ] as const) {
      await database.write((store) => addImport(store, { id, workspaceId, key: null, sender: 's', now }, nothing))
    }
    await forget()
    expect(await findImport(database, workspaceId, 'thirty-days')).toBeDefined()
    expect(await findImport(database, workspaceId, 'older')).toBeUndefined()
  })

  it('deletes sessions that have ended, however many, and keeps the others', async () => {
    const { database } = bench
    const add = (id: string, lastSeenAt: number) => {
      const session = { id, person: 1, createdAt: NOW - 2 * DAY_MS, lastSeenAt, address: '192.0.2.1', agent: '' }
      return database.write((store) => addSession(store, id, session))
    }
    await add('idle', NOW - SESSION_IDLE_MS)
    await add('used', NOW - SESSION_IDLE_MS + 1)
    await database.write(async (store) => {
      const session = { person: 1, createdAt: 0, lastSeenAt: 0, address: '', agent: '' }
      for (let at = 0; at < 1_000; at++) await addSession(store, `old-${at}`, { ...session, id: `old-${at}` })
    })
    await forget()
    const left = await database.query.selectFrom('sessions').select('id').execute()
    expect(left).toEqual([{ id: 'used' }])
  })

  it('deletes links that have expired', async () => {
    const { database } = bench
    const link = { kind: 'invitation', role: 'analyst', workspaceId: 'main', createdAt: NOW - DAY_MS } as const
    await database.write(async (store) => {
      await addAccessLink(store, 'expired', { ...link, email: 'a@example.com', expiresAt: NOW })
      await addAccessLink(store, 'open', { ...link, email: 'b@example.com', expiresAt: NOW + 1 })
    })
    await forget()
    const left = await database.query.selectFrom('access_links').select('hash').execute()
    expect(left).toEqual([{ hash: 'open' }])
  })

  it('deletes applied entries of the log once it is durable in the store that they are applied', async () => {
    const countEntries = async () => (await bench.logReader.read(0, { entries: 10, bytes: 1_000_000 })).length
    const body = { type: 'event', customer_id: 'c1', actions: [{ action: 'A' }] }
    await forget()
    await bench.append({ body, receivedAt: NOW - DAY_MS })
    await bench.append({ body })
    await bench.follow()
    const refusing: Database = { ...bench.database, write: () => Promise.reject(new Error('the disk is full')) }
    await expect(forget(refusing)).rejects.toThrow('the disk is full')
    expect(await countEntries()).toBe(2)
    await forget()
    expect(await countEntries()).toBe(1)
  })
})

describeOnPostgres('A process whose clock is ahead of that of a shared log', () => {
  it('deletes no idempotency key and no receipt too early', async () => {
    const location = await makeStore('postgres')
    const url = location.databaseUrl as string
    const database = await openTestDatabase(location)
    const log = await openPostgresLog({ url })
    const logReader = await openPostgresLogReader(url)
    const idempotency = { key: 'k1', hash: 'h1' }
    expect(await log.append(newEntry('first', { idempotency }))).toEqual({ outcome: 'appended' })
    const receipt = { requestId: 'first', workspaceId: 'main', receivedAt: Date.now(), error: null }
    await database.write((store) =>
      saveReceipts(store, [{ ...receipt, status: 'processed', events: 1, duplicates: 0, notCounted: 0 }]),
    )
    await forgetOld({ database, log, logReader, clock: () => Date.now() + 30 * DAY_MS }).run(() => false)
    const repeated = await log.append(newEntry('second', { idempotency }))
    const found = await findReceipt(database, 'main', 'first')
    await Promise.all([logReader.close(), log.close(), database.close()])
    await location.remove()
    expect(repeated).toEqual({ outcome: 'repeated', requestId: 'first' })
    expect(found).toBeDefined()
  })
})
