// A disk that is full at the end of a transaction: SQLite ends the transaction itself, and neither the error may be lost nor
// the next transaction suffer. A real one, in a process that may not let a file grow beyond a limit.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WriteOutcome } from './full-disk-writes.ts'

const WRITES = new URL('./full-disk-writes.ts', import.meta.url).pathname
/** Of any file of the process, in KiB. */
const FILE_KIB_MAX = 2_048

describe.each(['own', 'same'])('A transaction whose commit finds the disk full, on the %s thread', (thread) => {
  let folder: string
  let outcomes: WriteOutcome[]
  let kept: string[]

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tidings-full-disk-'))
    const command = `ulimit -f ${FILE_KIB_MAX}; exec "$0" "$@"`
    const args = ['-c', command, process.execPath, WRITES, join(folder, 'state.db'), thread]
    const { stdout } = await promisify(execFile)('bash', args)
    ;({ outcomes, kept } = JSON.parse(stdout) as { outcomes: WriteOutcome[]; kept: string[] })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('fails with what the disk said', () => {
    expect(outcomes[0]).toMatchObject({ reason: 'broken', driverCode: expect.stringMatching(/^SQLITE_(IOERR|FULL)/) })
  })

  it('leaves nothing, and takes nothing from the transactions behind it', () => {
    expect(outcomes.slice(1)).toEqual([{ message: 'changed its mind' }, 'written'])
    expect(kept).toEqual(['third'])
  })
})
