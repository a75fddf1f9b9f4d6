// A full disk: SQLite itself ends the transaction whose commit meets it, and the error must not be lost, nor the next transaction
// suffer; and the log says that it cannot be written. Tried for real, in a process that may not let a file grow beyond a limit.
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { LogOutcomes } from './full-disk-log.ts'
import type { WriteOutcome } from './full-disk-writes.ts'
import { BIN, run, type Ended } from '../support/program.ts'

/** The limit for any file of the process, in KiB. */
const FILE_KIB_MAX = 2_048
/** Less than an empty store takes. */
const SMALL_KIB = 128
/** Less than SQLite needs beside a file that it opens. */
const SMALLEST_KIB = 16

describe.each(['own', 'same'])('A transaction whose commit finds the disk full, on the %s thread', (thread) => {
  let folder: string
  let outcomes: WriteOutcome[]
  let kept: string[]

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tidings-full-disk-'))
    const printed = await runLimited('full-disk-writes.ts', join(folder, 'state.db'), thread)
    ;({ outcomes, kept } = printed as { outcomes: WriteOutcome[]; kept: string[] })
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

it('The embedded log that refuses entries for a full disk says that it cannot be written, and that it can with room again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-full-disk-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const { before, full, after } = (await runLimited('full-disk-log.ts', join(folder, 'log.db'))) as LogOutcomes
  const refusal = expect.stringMatching(/^The log cannot be written: /) as string
  const written = { append: 'done', check: 'done' }
  expect({ before, full, after }).toEqual({
    before: written,
    full: { append: refusal, check: refusal },
    after: written,
  })
})

describe('On a disk without room for the file', () => {
  let folder: string
  const dataDir = () => join(folder, 'data')
  const backup = () => join(folder, 'backup.db')

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tidings-full-disk-'))
    await run(['workspace', 'create', 'main'], { DATA_DIR: dataDir() })
    await run(['backup', backup()], { DATA_DIR: dataDir() })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('a backup says which file was not written, and leaves nothing of it', async () => {
    const file = join(folder, 'second.db')
    const ended = await runWithoutRoom(['backup', file], dataDir())
    expect(ended).toMatchObject({ status: 1, stdout: '' })
    expect(ended.stderr).toMatch(new RegExp(`^tidings: ${file} was not written: .+\\.\n$`))
    expect(readdirSync(folder).filter((name) => name.startsWith('second.db'))).toEqual([])
  })

  it('a command says that it is full, not that it is broken', async () => {
    const ended = await runWithoutRoom(['workspace', 'list'], dataDir(), SMALLEST_KIB)
    const path = join(dataDir(), 'state.db')
    const stderr = `tidings: The store: ${path} cannot be opened: database or disk is full.\n`
    expect(ended).toEqual({ status: 1, stdout: '', stderr })
  })

  it('a restore says which folder was not restored, and leaves it empty', async () => {
    const empty = join(folder, 'empty')
    const ended = await runWithoutRoom(['restore', backup()], empty)
    expect(ended).toMatchObject({ status: 1, stdout: '' })
    expect(ended.stderr).toMatch(new RegExp(`^tidings: ${empty} was not restored: .+\\.\n$`))
    expect(readdirSync(empty)).toEqual([])
  })
})

/** Runs a command that may let no file grow to the size of even an empty store. */
async function runWithoutRoom(args: readonly string[], dataDir: string, kibMax = SMALL_KIB): Promise<Ended> {
  return run(['-c', `ulimit -f ${kibMax}; exec "$0" "$@"`, BIN, ...args], { DATA_DIR: dataDir }, 'bash')
}

/** What a program of this folder prints, as JSON, when none of its files may grow beyond the limit. */
async function runLimited(program: string, ...words: readonly string[]): Promise<unknown> {
  const command = `ulimit -f ${FILE_KIB_MAX}; exec "$0" "$@"`
  const path = new URL(program, import.meta.url).pathname
  const { stdout } = await promisify(execFile)('bash', ['-c', command, process.execPath, path, ...words])
  return JSON.parse(stdout)
}
