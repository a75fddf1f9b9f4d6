// Large uploads of coupons, on every store: they are invisible until complete, add all codes or none after any failure, and never
// block other writers for long.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { DAY_MS } from '../../../src/core/time-zone.ts'
import { CODES_BUFFERED_MAX } from '../../../src/actions/coupon-upload.ts'
import { cleanAbandonedUploads, cleanUpload } from '../../../src/actions/clean-coupon-uploads.ts'
import {
  giveUpUpload,
  keepUploadAlive,
  listOpenUploads,
  openUpload,
  UPLOAD_ABANDONED_MS,
  type OpenUpload,
} from '../../../src/store/coupons/coupon-uploads.ts'
import { addCodes, COUPONS_PER_UPLOAD_MAX, reserveCouponIds } from '../../../src/store/coupons/coupons.ts'
import {
  codesOf,
  couponCallsOf,
  countRows,
  LISTS_PATH,
  toCsv,
  type CouponCalls,
} from '../../support/calls/coupon-calls.ts'
import { expectRefusal, startServer, until, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

/** So many codes that a part is stored before all have arrived. */
const MANY = CODES_BUFFERED_MAX + 10_000
const CLEANING_WAIT_MS = 10_000
const YEAR_MS = 365 * DAY_MS

describeEachStore('Uploads of coupons (add_coupons)', (kind) => {
  let server: TestServer
  let calls: CouponCalls

  beforeAll(async () => {
    server = await startServer(kind)
    calls = couponCallsOf(server)
  })
  afterEach(() => server.setClock(undefined))
  afterAll(() => server.stop())

  /** Begins an upload and waits until codes of it are in the store. */
  const begin = async (id: string, codes: readonly string[]) => {
    const upload = calls.openUpload(id)
    await upload.send(toCsv(codes))
    const { number } = await calls.stored(id)
    await until('the buffered codes are stored', async () => {
      return (await countRows(server.database, number)) >= CODES_BUFFERED_MAX
    })
    return upload
  }
  const noneIsOpen = async () => (await listOpenUploads(server.database)).length === 0

  /** Stores what remains of an upload whose process was killed. */
  const leaveBehind = async (id: string, codes: readonly string[], heartbeatAt: number) => {
    const { number } = await calls.stored(id)
    return server.database.write(async (store) => {
      const firstCouponId = await reserveCouponIds(store, COUPONS_PER_UPLOAD_MAX)
      await openUpload(store, { listNumber: number, firstCouponId, heartbeatAt })
      await addCodes(store, number, firstCouponId, codes)
      return firstCouponId
    })
  }

  it('adds 100,000 codes while events are tracked and other lists are changed', async () => {
    const [id, other] = [await calls.make(), await calls.make()]
    const codes = codesOf('BIG', 100_000)
    const progress = { isDone: false, requests: 0 }
    const upload = calls.addCsv(id, toCsv([...codes, 'BIG-1', 'BIG-1'])).finally(() => (progress.isDone = true))
    while (!progress.isDone) {
      progress.requests++
      const event = { type: 'event', customer_id: 'c1', actions: [{ action: 'Seen' }] }
      expect((await server.call('POST', '/v1/event/main', { body: event })).status).toBe(200)
      const change = { body: { name: `Name ${progress.requests}` } }
      expect((await calls.call('PATCH', `${LISTS_PATH}/${other}`, change)).status).toBe(200)
      // All codes or none, even for a read during the upload.
      expect([0, 100_000]).toContain((await calls.fetch(id)).total_coupons)
    }
    expect((await upload).body).toMatchObject({ added: 100_000, duplicates: 2 })
    // In a single transaction, the first change would have waited for the whole upload.
    expect(progress.requests).toBeGreaterThan(5)
    await calls.expectCodes(id, codes)
    const tracked = Math.min(progress.requests, 500)
    const stored = await until('the events are processed', async () => {
      const answer = await server.call<{ data: unknown[] }>('GET', '/v1/event/main?customer_id=c1&limit=500')
      return answer.status === 200 && answer.body.data.length >= tracked && answer.body.data
    })
    expect(stored).toHaveLength(tracked)
  }, 60_000)

  it('shows no code of an upload until all of them have arrived', async () => {
    const id = await calls.make()
    await calls.addJson(id, ['BEFORE'])
    const codes = codesOf('WHOLE', MANY)
    const upload = await begin(id, codes)
    expect(await calls.fetch(id)).toMatchObject({ total_coupons: 1, available_coupons: 1 })
    await upload.send('LAST\nBEFORE\n')
    expect((await upload.end()).body).toMatchObject({ added: MANY + 1, duplicates: 1 })
    await calls.expectCodes(id, ['BEFORE', 'LAST', ...codes])
    expect(await noneIsOpen()).toBe(true)
  })

  it('removes no code of a completed upload whose process did not receive the result', async () => {
    const id = await calls.make()
    const codes = codesOf('HEARD', MANY)
    const upload = await begin(id, codes)
    const [open] = await listOpenUploads(server.database)
    expect((await upload.end()).status).toBe(200)
    const { firstCouponId } = open as OpenUpload
    await server.database.write((store) => giveUpUpload(store, firstCouponId))
    await cleanUpload(server.database, firstCouponId, CLEANING_WAIT_MS)
    await calls.expectCodes(id, codes)
  })

  it('refuses another upload to the same list while one runs, but not to another list', async () => {
    const [id, other] = [await calls.make(), await calls.make()]
    const codes = codesOf('FIRST', MANY)
    const upload = await begin(id, codes)
    for (const refused of [await calls.addCsv(id, 'SECOND'), await calls.addJson(id, ['SECOND'])]) {
      expectRefusal(refused, 409, 'conflict')
      expect(refused.headers.get('retry-after')).toBe('10')
    }
    expect((await calls.addJson(other, ['SECOND'])).status).toBe(200)
    expect((await upload.end()).status).toBe(200)
    await calls.expectCodes(id, codes)
  })

  it('adds the codes of several small concurrent uploads', async () => {
    const id = await calls.make()
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => calls.addJson(id, ['SAME', `OWN-${index}`])),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    const added = answers.reduce((sum, { body }) => sum + body.added, 0)
    expect(added).toBe(11)
    await calls.expectCodes(id, ['SAME', ...Array.from({ length: 10 }, (_, index) => `OWN-${index}`)])
  })

  it('adds nothing when the connection breaks, and the next upload starts from the beginning', async () => {
    const id = await calls.make()
    const codes = codesOf('BROKEN', MANY)
    const upload = await begin(id, codes)
    upload.breakOff()
    await until('the broken upload is removed', noneIsOpen)
    await calls.expectCodes(id, [])
    expect((await calls.addCsv(id, toCsv(codes))).body).toMatchObject({ added: MANY, duplicates: 0 })
    await calls.expectCodes(id, codes)
  })

  it('adds nothing when the last of many lines is invalid', async () => {
    const id = await calls.make()
    const answer = await calls.addCsv(id, `${toCsv(codesOf('BAD', MANY))}B,1`)
    expectRefusal(answer, 400, 'invalid_request', [`line ${MANY + 1}`])
    await calls.expectCodes(id, [])
    expect(await noneIsOpen()).toBe(true)
  })

  it('adds nothing when the list is archived before all codes have arrived', async () => {
    const id = await calls.make()
    const upload = await begin(id, codesOf('LATE', MANY))
    await calls.call('PUT', `${LISTS_PATH}/${id}/archive`)
    expectRefusal(await upload.end(), 409, 'conflict')
    await calls.expectCodes(id, [])
    expect(await noneIsOpen()).toBe(true)
  })

  it('removes an upload without a heartbeat for a minute before the next one begins', async () => {
    const id = await calls.make()
    const now = Date.now()
    server.setClock(now)
    await leaveBehind(id, codesOf('LEFT', 6_000), now)
    expect(await calls.fetch(id)).toMatchObject({ total_coupons: 0, available_coupons: 0 })
    expectRefusal(await calls.addJson(id, ['LEFT-0']), 409, 'conflict')
    server.setClock(now + UPLOAD_ABANDONED_MS - 1)
    expectRefusal(await calls.addJson(id, ['LEFT-0']), 409, 'conflict')
    server.setClock(now + UPLOAD_ABANDONED_MS)
    expect((await calls.addJson(id, ['LEFT-0'])).body).toMatchObject({ added: 1, duplicates: 0 })
    await calls.expectCodes(id, ['LEFT-0'])
  })

  it.each(['nobody uploads to again', 'somebody uploads to again'])(
    'removes abandoned codes of lists that %s even if the clock was set back',
    async (who) => {
      const id = await calls.make()
      const now = Date.now()
      server.setClock(now)
      await leaveBehind(id, codesOf('AHEAD', 6_000), now + YEAR_MS)
      const codes = who === 'somebody uploads to again' ? ['NEXT'] : []
      for (const code of codes) {
        expect((await calls.addJson(id, [code])).body).toMatchObject({ added: 1, duplicates: 0 })
      }
      await cleanAbandonedUploads(server.database, now, () => false)
      await calls.expectCodes(id, codes)
      expect(await noneIsOpen()).toBe(true)
    },
  )

  it('removes abandoned codes even if nobody uploads to their list again', async () => {
    const [left, running] = [await calls.make(), await calls.make()]
    const now = Date.now()
    await leaveBehind(left, codesOf('LEFT', 6_000), now - UPLOAD_ABANDONED_MS)
    const alive = await leaveBehind(running, ['ALIVE'], now)
    await cleanAbandonedUploads(server.database, now, () => false)
    await calls.expectCodes(left, [])
    expect((await listOpenUploads(server.database)).map(({ firstCouponId }) => firstCouponId)).toEqual([alive])
    await cleanAbandonedUploads(server.database, now + UPLOAD_ABANDONED_MS, () => false)
    await calls.expectCodes(running, [])
    expect(await noneIsOpen()).toBe(true)
  })

  it('removes no codes of other lists from before or after the upload', async () => {
    const [before, left, after] = [await calls.make(), await calls.make(), await calls.make()]
    const now = Date.now()
    expect((await calls.addJson(before, ['BEFORE'])).status).toBe(200)
    await leaveBehind(left, codesOf('LEFT', 6_000), now - UPLOAD_ABANDONED_MS)
    expect((await calls.addJson(after, ['AFTER'])).status).toBe(200)
    await cleanAbandonedUploads(server.database, now, () => false)
    await calls.expectCodes(left, [])
    await calls.expectCodes(before, ['BEFORE'])
    await calls.expectCodes(after, ['AFTER'])
  })

  it('adds nothing when a stalled upload continues after it was abandoned', async () => {
    const id = await calls.make()
    const upload = await begin(id, codesOf('STILL', MANY))
    const [open] = await listOpenUploads(server.database)
    const longAgo = Date.now() - UPLOAD_ABANDONED_MS
    await server.database.write((store) => keepUploadAlive(store, open?.firstCouponId ?? 0, longAgo))
    expect((await calls.addJson(id, ['NEXT'])).body).toMatchObject({ added: 1, duplicates: 0 })
    await upload.send(toCsv(codesOf('MORE', MANY)))
    // It stores no further chunk, which another process would have to remove if this one is killed.
    expectRefusal(await upload.answer, 409, 'conflict')
    upload.breakOff()
    await calls.expectCodes(id, ['NEXT'])
  })

  it('adds nothing when an upload ends that was abandoned after its last write', async () => {
    const id = await calls.make()
    const upload = await begin(id, codesOf('ALL', CODES_BUFFERED_MAX))
    const [open] = await listOpenUploads(server.database)
    const longAgo = Date.now() - UPLOAD_ABANDONED_MS
    await server.database.write((store) => keepUploadAlive(store, open?.firstCouponId ?? 0, longAgo))
    expect((await calls.addJson(id, ['NEXT'])).body).toMatchObject({ added: 1, duplicates: 0 })
    expectRefusal(await upload.end(), 409, 'conflict')
    await calls.expectCodes(id, ['NEXT'])
  })

  it('does not abandon a slow upload that keeps sending', async () => {
    const id = await calls.make()
    const now = Date.now()
    server.setClock(now)
    const codes = codesOf('SLOW', MANY)
    const upload = await begin(id, codes)
    for (let step = 1; step <= 3; step++) {
      server.setClock(now + (step * UPLOAD_ABANDONED_MS) / 2)
      await upload.send(`SLOW-PART-${step}\n`)
      await until('the upload has a heartbeat', async () => {
        const [open] = await listOpenUploads(server.database)
        return open?.heartbeatAt === now + (step * UPLOAD_ABANDONED_MS) / 2
      })
    }
    expect((await upload.end()).body).toMatchObject({ added: MANY + 3, duplicates: 0 })
    await calls.expectCodes(id, [...codes, 'SLOW-PART-1', 'SLOW-PART-2', 'SLOW-PART-3'])
  })

  it('does not abandon a slow upload if the clock is set back meanwhile', async () => {
    const id = await calls.make()
    const now = Date.now()
    server.setClock(now + YEAR_MS)
    const codes = codesOf('BACK', MANY)
    const upload = await begin(id, codes)
    server.setClock(now)
    await upload.send('BACK-PART\n')
    await until('the upload has a heartbeat', async () => {
      const [open] = await listOpenUploads(server.database)
      return open?.heartbeatAt === now
    })
    await cleanAbandonedUploads(server.database, now, () => false)
    expect((await upload.end()).body).toMatchObject({ added: MANY + 1, duplicates: 0 })
    await calls.expectCodes(id, [...codes, 'BACK-PART'])
  })

  it('runs eight uploads at once, and answers 503 to one more, which can be retried', async () => {
    const id = await calls.make()
    const codes = codesOf('NINTH', MANY)
    const now = Date.now()
    for (let count = 0; count < 7; count++) await leaveBehind(await calls.make(), ['A'], now)
    expect((await calls.addCsv(await calls.make(), toCsv(codesOf('EIGHTH', MANY)))).status).toBe(200)
    await leaveBehind(await calls.make(), ['A'], now)
    const answer = await calls.addCsv(id, toCsv(codes))
    expectRefusal(answer, 503, 'unavailable')
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await calls.addJson(id, ['FEW'])).status).toBe(200)
    await cleanAbandonedUploads(server.database, now + UPLOAD_ABANDONED_MS, () => false)
    expect((await calls.addCsv(id, toCsv(codes))).body).toMatchObject({ added: MANY, duplicates: 0 })
  })
})
