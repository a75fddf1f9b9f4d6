// The embedded log compresses large bodies and returns them unchanged.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import SqliteFile from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { compressBody, decompressBody } from '../../src/log/sqlite/compressed-body.ts'
import { openSqliteLogReader } from '../../src/log/sqlite/sqlite-log-reader.ts'
import { openSqliteLog } from '../../src/log/sqlite/sqlite-log.ts'
import { newEntry } from './log-contract.ts'

/** The URL of the tested module, for a child process. */
const COMPRESSED_BODY = pathToFileURL(join(import.meta.dirname, '../../src/log/sqlite/compressed-body.ts')).href

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidings-compressed-body-'))
  path = join(folder, 'log.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** A body without repeated bytes, always the same. */
function varied(bytes: number): Buffer {
  const digests = Array.from({ length: Math.ceil(bytes / 64) }, (_, index) =>
    createHash('sha512').update(`${index}`).digest(),
  )
  return Buffer.concat(digests).subarray(0, bytes)
}

/** Appends the bodies one after the other as `r0`, `r1`, …, each in a batch of its own. */
async function append(bodies: readonly Buffer[]): Promise<void> {
  const writer = openSqliteLog({ path })
  for (const [index, body] of bodies.entries()) await writer.append(newEntry(`r${index}`, { body: Buffer.from(body) }))
  await writer.close()
}

/** For each batch in the file: the decompressed length of its bodies, and their stored length. */
function keptLengths(): unknown[] {
  const file = new SqliteFile(path, { readonly: true })
  const rows = file
    .prepare('select body_bytes, octet_length(bodies) from record_batches order by last_position')
    .raw()
    .all()
  file.close()
  return rows
}

async function readAll(bounds = { entries: 100, bytes: 10_000_000 }): Promise<[id: string, body: Buffer][]> {
  const reader = openSqliteLogReader(path)
  const entries = await reader.read(0, bounds)
  await reader.close()
  return entries.map(({ requestId, body }) => [requestId, Buffer.from(body)])
}

it('stores large repetitive bodies compressed and others as they are, and returns all of them unchanged', async () => {
  const events = Buffer.from(
    JSON.stringify({
      events: Array.from({ length: 100 }, (_, n) => ({ type: 'Product Viewed', customer_id: `customer-${n}` })),
    }),
  )
  const bodies = [events, Buffer.from('{}'), varied(6_000), events, Buffer.alloc(0)]
  await append(bodies)
  const kept = compressBody(events)?.byteLength ?? NaN
  expect(kept).toBeLessThan(events.byteLength / 4)
  expect(keptLengths()).toEqual([
    [events.byteLength, kept],
    [null, 2],
    [null, 6_000],
    [events.byteLength, kept],
    [null, 0],
  ])
  expect(await readAll()).toEqual(bodies.map((body, index) => [`r${index}`, body]))
  const reader = openSqliteLogReader(path)
  const [large, small] = [await reader.findByRequestId('r0'), await reader.findByRequestId('r2')]
  await reader.close()
  expect([large?.body, small?.body].map((body) => body && Buffer.from(body))).toEqual([events, varied(6_000)])
})

it('compresses bodies from 2 KiB on', () => {
  expect(compressBody(Buffer.alloc(2_047, 'x'))).toBeUndefined()
  expect(compressBody(Buffer.alloc(2_048, 'x'))?.byteLength).toBeLessThan(100)
})

it('compresses a body that shrinks to three quarters, and no other', () => {
  const partly = (same: number) => compressBody(Buffer.concat([varied(8_000 - same), Buffer.alloc(same, 'x')]))
  // LZ4 stores bytes that do not repeat as they are; the lengths, markers and the rest take some 60 bytes.
  expect(partly(2_100)?.byteLength).toBeGreaterThan(5_900)
  expect(partly(1_990)).toBeUndefined()
})

it('applies the bound of a batch to uncompressed bodies', async () => {
  await append(Array.from({ length: 5 }, () => Buffer.alloc(50_000, 'x')))
  expect(await readAll({ entries: 100, bytes: 149_999 })).toHaveLength(2)
  expect(await readAll({ entries: 100, bytes: 150_000 })).toHaveLength(3)
})

it('stores bodies uncompressed without LZ4, and reports the missing library when it cannot decompress one', () => {
  const kept = compressBody(Buffer.alloc(5_000, 'x')) ?? Buffer.of()
  const without = `
    import { registerHooks } from 'node:module'
    registerHooks({ resolve(name, context, next) {
      if (name === 'lz4-napi') throw new Error('no part for this system')
      return next(name, context)
    } })
    const { compressBody, decompressBody } = await import(${JSON.stringify(COMPRESSED_BODY)})
    if (compressBody(Buffer.alloc(5_000, 'x')) !== undefined) throw new Error('it was compressed')
    decompressBody(Buffer.from('${kept.toString('hex')}', 'hex'), 5_000)`
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', without], { encoding: 'utf8' })
  expect(stderr).toContain(
    'The log contains compressed requests, but LZ4 cannot be loaded (no part for this system). Reinstall with optional packages.',
  )
})

it('refuses a body that claims another length', () => {
  const kept = compressBody(Buffer.alloc(5_000, 'x')) ?? Buffer.of()
  expect(decompressBody(kept, 5_000)).toEqual(Buffer.alloc(5_000, 'x'))
  expect(() => decompressBody(kept, 4_999)).toThrow('a body of 4999 bytes claims to have 5000 bytes')
})
