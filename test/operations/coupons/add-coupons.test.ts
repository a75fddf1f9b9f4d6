// Add coupons through real HTTP, on every store: which requests are accepted, and their results.
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ErrorBody } from '../../../src/http/answers/error-answer.ts'
import {
  codesOf,
  couponCallsOf,
  couponsPath,
  LISTS_PATH,
  toCsv,
  type CouponCalls,
} from '../../support/calls/coupon-calls.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { DAY_MS } from '../../../src/core/time-zone.ts'

const MIB = 1024 * 1024
/** Empty lines, for bodies of any size. */
const PADDING = `${' '.repeat(1_023)}\n`

describeEachStore('Add coupons (add_coupons)', (kind) => {
  let server: TestServer
  let calls: CouponCalls

  beforeAll(async () => {
    server = await startServer(kind)
    calls = couponCallsOf(server)
  })
  afterAll(() => server.stop())

  it('adds one code per line of text/csv, without the header, empty lines and outer spaces', async () => {
    const id = await calls.make()
    const answer = await calls.addCsv(id, '\ufeffCoupon Code\r\nA-1\r\n\r\n  B-2  \r\n"C,3"\r\n"D""4"')
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      upload: expect.stringMatching(/^\d+$/) as string,
      added: 4,
      duplicates: 0,
      similar: { count: 0, pairs: [] },
      header: 'Coupon Code',
    })
    await calls.expectCodes(id, ['A-1', 'B-2', 'C,3', 'D"4'])
    expect(await calls.fetch(id)).toMatchObject({ total_coupons: 4, available_coupons: 4 })
  })

  it('adds the codes of JSON', async () => {
    const id = await calls.make()
    expect((await calls.addJson(id, ['A-1', ' B-2 ', 'Größe-😀'])).body).toMatchObject({ added: 3, duplicates: 0 })
    await calls.expectCodes(id, ['A-1', 'B-2', 'Größe-😀'])
  })

  it('codes that the list already has, or that are sent twice, are duplicates and not errors', async () => {
    const id = await calls.make()
    expect((await calls.addCsv(id, 'A\nB\nA\n A \n"B"')).body).toMatchObject({ added: 2, duplicates: 3 })
    expect((await calls.addJson(id, ['B', 'C', 'c', 'C'])).body).toMatchObject({ added: 2, duplicates: 2 })
    await calls.expectCodes(id, ['A', 'B', 'C', 'c'])
  })

  it('names the header as it was sent, and takes a first line that is no known header as a code', async () => {
    const id = await calls.make()
    expect((await calls.addCsv(id, 'coupon_code\nA')).body).toMatchObject({ added: 1, header: 'coupon_code' })
    expect((await calls.addCsv(id, 'SUMMER\nB')).body).toMatchObject({ added: 2, header: null })
    expect((await calls.addJson(id, ['Coupon Code'])).body).toMatchObject({ added: 1, header: null })
    await calls.expectCodes(id, ['A', 'B', 'Coupon Code', 'SUMMER'])
  })

  it('adds codes that differ only in case, and reports those of the request and of the list', async () => {
    const id = await calls.make()
    expect((await calls.addJson(id, ['Ab', 'ß', 'C'])).body.similar).toEqual({ count: 0, pairs: [] })
    const added = await calls.addCsv(id, 'aB\nD\nd\nSS\nC')
    expect(added.body).toMatchObject({ added: 4, duplicates: 1 })
    // Of two codes of one request, one is reported.
    const pairs = [expect.arrayContaining(['D', 'd']) as string[], ['aB', 'Ab']]
    expect(added.body.similar).toEqual({ count: 2, pairs: expect.arrayContaining(pairs) as string[][] })
    await calls.expectCodes(id, ['Ab', 'C', 'D', 'SS', 'aB', 'd', 'ß'])
  })

  it('counts all codes that differ only in case, and names the first ten', async () => {
    const id = await calls.make()
    await calls.addJson(id, codesOf('X', 3_000))
    const { similar } = (await calls.addCsv(id, toCsv(codesOf('x', 3_000)))).body
    expect([similar.count, similar.pairs.length]).toEqual([3_000, 10])
    for (const [code, other] of similar.pairs) expect(code.toUpperCase()).toBe(other)
  })

  it('reports no code of another list as similar', async () => {
    await calls.addJson(await calls.make(), ['LISTED'])
    expect((await calls.addJson(await calls.make(), ['listed'])).body.similar.count).toBe(0)
  })

  it('names the line and the separator of a file with several columns, and adds nothing', async () => {
    const id = await calls.make()
    const answer = await calls.addCsv(id, 'Code;Discount\r\nA1;10')
    expectRefusal(answer, 400, 'invalid_request', ['line 1', 'line 2'])
    expect(JSON.stringify(answer.body)).toContain('the separator \\";\\"')
    await calls.expectCodes(id, [])
  })

  it('codes are unique in a list, not in a workspace', async () => {
    const [one, other] = [await calls.make(), await calls.make()]
    await calls.addJson(one, ['A'])
    expect((await calls.addJson(other, ['A'])).body).toMatchObject({ added: 1, duplicates: 0 })
  })

  it('only new codes change the update time of a list', async () => {
    const id = await calls.make()
    server.setClock(Date.parse('2190-01-01T00:00:00Z'))
    await calls.addJson(id, ['A'])
    expect((await calls.fetch(id)).updated_at).toBe('2190-01-01T00:00:00.000Z')
    server.setClock(Date.parse('2190-01-02T00:00:00Z'))
    await calls.addJson(id, ['A'])
    expect((await calls.fetch(id)).updated_at).toBe('2190-01-01T00:00:00.000Z')
    server.setClock(Date.parse('2189-12-31T00:00:00Z'))
    await calls.addJson(id, ['B'])
    expect((await calls.fetch(id)).updated_at).toBe('2190-01-01T00:00:00.001Z')
    server.setClock(undefined)
  })

  it('invalid lines are named, and nothing is added', async () => {
    const id = await calls.make()
    const bytes = Buffer.concat([Buffer.from(`A\nB,1\n${'x'.repeat(129)}\nC\u0001\n"D\n`), Buffer.from([0xff, 0x0a])])
    const answer = await calls.addCsv(id, bytes)
    expectRefusal(answer, 400, 'invalid_request', ['line 2', 'line 3', 'line 4', 'line 5', 'line 6'])
    await calls.expectCodes(id, [])
  })

  it('names the first hundred invalid lines and their total', async () => {
    const id = await calls.make()
    const answer = await calls.addCsv(id, `A\n${'B,1\n'.repeat(250)}C\n`)
    const lines = Array.from({ length: 100 }, (_, index) => `line ${index + 2}`)
    expectRefusal(answer, 400, 'invalid_request', lines)
    expect((answer.body as unknown as ErrorBody).error.message).toContain('250')
    await calls.expectCodes(id, [])
  })

  const badJson: [rule: string, coupons: unknown, faulty: string[]][] = [
    ['codes that are empty or contain control characters', ['A', '', 'B\n'], ['coupons[1]', 'coupons[2]']],
    ['codes with characters that nobody sees', ['A\u200b', 'B', '\ufeffC'], ['coupons[0]', 'coupons[2]']],
    ['a code of 129 characters', ['x'.repeat(129)], ['coupons[0]']],
    ['a code that is not a string', ['A', 1, null], ['coupons[1]', 'coupons[2]']],
    ['a code that cannot be stored', ['A\ud800'], ['coupons[0]']],
    ['no codes', [], ['coupons']],
    ['something other than a list', 'A', ['coupons']],
  ]
  it.each(badJson)('JSON refuses %s', async (_rule, coupons, faulty) => {
    const id = await calls.make()
    const answer = await calls.addJson(id, coupons as unknown[])
    expectRefusal(answer, 400, 'invalid_request', faulty)
    await calls.expectCodes(id, [])
  })

  it('JSON names the first hundred invalid codes', async () => {
    const coupons = Array(300).fill('')
    const named = Array.from({ length: 100 }, (_, index) => `coupons[${index}]`)
    expectRefusal(await calls.addJson(await calls.make(), coupons), 400, 'invalid_request', named)
  })

  it('JSON names invalid codes beside every other fault', async () => {
    const answer = await calls.call('POST', couponsPath(await calls.make()), {
      body: { coupons: ['A', ''], list: 'x' },
    })
    expectRefusal(answer, 400, 'invalid_request', ['list', 'coupons[1]'])
    expectRefusal(await calls.addJson(await calls.make(), ['A', 1, '']), 400, 'invalid_request', [
      'coupons[1]',
      'coupons[2]',
    ])
  })

  it('a body with very many faults is refused as fast as others', async () => {
    const answer = await calls.addJson(await calls.make(), Array(200_000).fill(1))
    expect(answer.status).toBe(400)
    const { details, message } = (answer.body as unknown as ErrorBody).error
    expect(details).toHaveLength(1_000)
    expect(message).toBe('The request is invalid in at least 1000 places; see details.')
  })

  it('JSON refuses unknown fields', async () => {
    const body = { coupons: ['A'], list: 'x' }
    const answer = await calls.call('POST', couponsPath(await calls.make()), { body })
    expectRefusal(answer, 400, 'invalid_request', ['list'])
  })

  it('says that the only line of a file is a header, so that no code is lost', async () => {
    const answer = await calls.addCsv(await calls.make(), 'VOUCHER\n')
    expectRefusal(answer, 400, 'invalid_request', ['body'])
    expect(JSON.stringify(answer.body)).toContain('VOUCHER is a header')
  })

  it.each(['', '\n\n', 'Coupon Code\n'])('refuses an upload without any code: %j', async (csv) => {
    expectRefusal(await calls.addCsv(await calls.make(), csv), 400, 'invalid_request', ['body'])
  })

  it('a list that is not ACTIVE is 409', async () => {
    const [expired, archived] = [await calls.make({ expires_at: '2199-01-01' }), await calls.make()]
    await calls.call('PUT', `${LISTS_PATH}/${archived}/archive`)
    expectRefusal(await calls.addCsv(archived, 'A'), 409, 'conflict')
    expectRefusal(await calls.addJson(archived, ['A']), 409, 'conflict')
    server.setClock(Date.parse('2199-01-01T00:00:00Z') + DAY_MS)
    expectRefusal(await calls.addCsv(expired, 'A'), 409, 'conflict')
    server.setClock(undefined)
    await calls.expectCodes(archived, [])
    await calls.expectCodes(expired, [])
  })

  const csvTypes = ['text/csv; charset=utf-8', 'text/csv;header=present; charset="utf-8"', 'Text/CSV']
  it.each(csvTypes)('accepts the media type %s', async (mediaType) => {
    const id = await calls.make()
    expect((await calls.addCsv(id, 'A', { 'content-type': mediaType })).body).toMatchObject({ added: 1, duplicates: 0 })
  })

  const otherTypes = ['text/plain', 'text/csvx', 'application/octet-stream', 'csv']
  it.each(otherTypes)('refuses the media type %s with 415', async (mediaType) => {
    const id = await calls.make()
    expectRefusal(await calls.addCsv(id, 'A', { 'content-type': mediaType }), 415, 'unsupported_media_type')
    await calls.expectCodes(id, [])
  })

  it('text/csv is 415 for other operations', async () => {
    const answer = await calls.call('POST', LISTS_PATH, { body: 'A', headers: { 'content-type': 'text/csv' } })
    expectRefusal(answer, 415, 'unsupported_media_type')
  })

  it('uploads may be compressed with gzip', async () => {
    const id = await calls.make()
    const gzip = { 'content-encoding': 'gzip' }
    expect((await calls.addCsv(id, gzipSync('A\nB\n'), gzip)).body).toMatchObject({ added: 2, duplicates: 0 })
    expectRefusal(await calls.addCsv(id, 'C\n', gzip), 400, 'invalid_request', ['body'])
    expectRefusal(await calls.addCsv(id, gzipSync('C\n').subarray(0, 15), gzip), 400, 'invalid_request', ['body'])
    expectRefusal(await calls.addCsv(id, 'C\n', { 'content-encoding': 'br' }), 415, 'unsupported_media_type')
    await calls.expectCodes(id, ['A', 'B'])
  })

  it('accepts 64 MiB, and answers 413 to one byte more, compressed or not', async () => {
    const id = await calls.make()
    const most = Buffer.from(`A\n${PADDING.repeat(64 * 1024)}`).subarray(0, 64 * MIB)
    const more = Buffer.concat([most, Buffer.from('B')])
    const gzip = { 'content-encoding': 'gzip' }
    expect((await calls.addCsv(id, gzipSync(most), gzip)).body).toMatchObject({ added: 1, duplicates: 0 })
    expectRefusal(await calls.addCsv(id, gzipSync(more), gzip), 413, 'payload_too_large')
    expect((await calls.addCsv(id, most)).body).toMatchObject({ added: 0, duplicates: 1 })
    expectRefusal(await calls.addCsv(id, more), 413, 'payload_too_large')
    await calls.expectCodes(id, ['A'])
  })

  it('answers 413 to a stream of unknown length once it is too long', async () => {
    const id = await calls.make()
    const upload = calls.openUpload(id)
    const part = PADDING.repeat(1_024)
    await upload.send('A\n')
    for (let sent = 0; sent < 64; sent++) await upload.send(part)
    expectRefusal(await upload.end(), 413, 'payload_too_large')
    await calls.expectCodes(id, [])
  })

  it('JSON is limited to 1 MiB', async () => {
    const answer = await calls.addJson(await calls.make(), ['A'.repeat(MIB)])
    expectRefusal(answer, 413, 'payload_too_large')
  })
})
