// Checks the thread that moves commits from write-ahead logs into their SQLite files while writers continue.
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import SqliteFile from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { startCheckpoints } from '../../src/store/sqlite/sqlite-checkpoints.ts'
import { until } from '../support/server.ts'

const ROW_BYTES = 1_000
/** Enough to make the thread restart the write-ahead log. */
const ROWS = 10_000

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'tidings-checkpoints-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A writer whose commits never checkpoint. */
function openWriter(name: string) {
  const path = join(folder, name)
  const file = new SqliteFile(path)
  file.pragma('journal_mode = WAL')
  file.pragma('wal_autocheckpoint = 0')
  file.exec('create table things (words text)')
  const add = file.prepare('insert into things values (?)')
  return {
    path,
    bytes: () => statSync(path).size,
    commit: file.transaction(() => {
      for (let row = 0; row < ROWS; row++) add.run('x'.repeat(ROW_BYTES))
    }),
    close: () => file.close(),
  }
}

it('the thread moves the commits of open writers into several files, again and again', async () => {
  const writers = ['one.db', 'two.db'].map(openWriter)
  const checkpoints = startCheckpoints(writers.map(({ path }) => path))
  for (let round = 1; round <= 2; round++) {
    for (const { commit, bytes } of writers) {
      commit()
      await until(`round ${round} is in the file`, () => bytes() >= round * ROWS * ROW_BYTES)
      expect(bytes()).toBeGreaterThanOrEqual(round * ROWS * ROW_BYTES)
    }
  }
  await checkpoints.stop()
  for (const { close } of writers) close()
})
