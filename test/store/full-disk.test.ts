// Checks a full disk, in processes that cannot let a file grow beyond a limit. SQLite itself ends the transaction whose commit
// fills the disk: its error must reach the caller, and the next transactions must succeed. The log must report that it cannot be
// written.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { LogOutcomes } from './full-disk-log.ts'
import type { WriteOutcome } from './full-disk-writes.ts'
import type { ErrorBody } from '../../src/http/answers/error-answer.ts'
import { basic, BIN, run, startServing, type Ended, type FirstWorkspace } from '../support/program.ts'
import { until } from '../support/server.ts'

/** The limit for any file of the process, in KiB. */
const FILE_KIB_MAX = 2_048
/** For each file of a server. */
const SERVER_KIB_MAX = 4_096
/** Less than an empty store needs. */
const SMALL_KIB = 128
/** Less than SQLite needs for the files beside one that it opens. */
const SMALLEST_KIB = 16

describe.each(['own', 'same'])('A transaction whose commit fills the disk (%s thread)', (thread) => {
  let folder: string
  let outcomes: WriteOutcome[]
  let stored: string[]

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tidings-full-disk-'))
    const printed = await runLimited('full-disk-writes.ts', join(folder, 'state.db'), thread)
    ;({ outcomes, stored } = printed as { outcomes: WriteOutcome[]; stored: string[] })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('fails with the error code of SQLite', () => {
    expect(outcomes[0]).toMatchObject({ reason: 'broken', driverCode: expect.stringMatching(/^SQLITE_(IOERR|FULL)/) })
  })

  it('writes nothing, and does not affect the transactions after it', () => {
    expect(outcomes.slice(1)).toEqual([{ message: 'changed its mind' }, 'written'])
    expect(stored).toEqual(['third'])
  })
})

it('The embedded log refuses entries and fails its check while the disk is full, and then recovers', async () => {
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

it('A server on a full disk answers 503 without the names of products and codes, which its diagnostics have', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-full-disk-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const limited = join(folder, 'limited')
  writeFileSync(limited, `#!/bin/bash\nulimit -f ${SERVER_KIB_MAX}\nexec ${BIN} "$@"\n`, { mode: 0o755 })
  const server = await startServing({ DATA_DIR: join(folder, 'data') }, [], limited)
  const { url, first_workspace: { workspace_id: id, data_key: key } = {} as FirstWorkspace } = server.started
  const ask = async (path: string, init?: RequestInit) => {
    const answer = await fetch(url + path, init)
    const { error } = (await answer.json()) as Partial<ErrorBody>
    return answer.status === 503 && error?.message
  }
  const headers = { authorization: basic(id, key), 'content-type': 'application/json' }
  const refusal = await until('the log is full', () => {
    // Random, so that it does not shrink.
    const attributes = { filling: randomBytes(64 * 1024).toString('base64') }
    const body = JSON.stringify({ type: 'event', customer_id: 'c', actions: [{ action: 'A', attributes }] })
    return ask(`/v1/event/${id}`, { method: 'POST', headers, body })
  })
  expect(refusal).toBe('The log is unavailable. Retry after 1 second.')
  expect(await ask('/readyz')).toMatch(/^Not ready: (the store cannot be written; )?the log cannot be written\.$/)
  await server.stop('SIGKILL')
  expect(server.output().stderr).toMatch(
    /"reason":"The log cannot be written: (database or disk is full|disk I\/O error)/,
  )
})

describe('On a disk without space for the file', () => {
  let folder: string
  const dataDir = () => join(folder, 'data')
  const backup = () => join(folder, 'backup.db')

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tidings-full-disk-'))
    await run(['workspace', 'create', 'main'], { DATA_DIR: dataDir() })
    await run(['backup', backup()], { DATA_DIR: dataDir() })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('a backup names the file that it could not write, and leaves no part of it', async () => {
    const file = join(folder, 'second.db')
    const ended = await runWithoutSpace(['backup', file], dataDir())
    expect(ended).toMatchObject({ status: 1, stdout: '' })
    expect(ended.stderr).toMatch(new RegExp(`^tidings: ${file} was not written: .+\\.\n$`))
    expect(readdirSync(folder).filter((name) => name.startsWith('second.db'))).toEqual([])
  })

  it('a command reports that the disk is full, not that the store is damaged', async () => {
    const ended = await runWithoutSpace(['workspace', 'list'], dataDir(), SMALLEST_KIB)
    const path = join(dataDir(), 'state.db')
    const stderr = `tidings: The store failed: ${path} cannot be opened: the disk is full.\n`
    expect(ended).toEqual({ status: 1, stdout: '', stderr })
  })

  it('a restore names the folder that it could not restore, and leaves it empty', async () => {
    const empty = join(folder, 'empty')
    const ended = await runWithoutSpace(['restore', backup()], empty)
    expect(ended).toMatchObject({ status: 1, stdout: '' })
    expect(ended.stderr).toMatch(new RegExp(`^tidings: ${empty} was not restored: .+\\.\n$`))
    expect(readdirSync(empty)).toEqual([])
  })
})

/** Runs a command that cannot write a file as large as even an empty store. */
async function runWithoutSpace(args: readonly string[], dataDir: string, kibMax = SMALL_KIB): Promise<Ended> {
  return run(['-c', `ulimit -f ${kibMax}; exec "$0" "$@"`, BIN, ...args], { DATA_DIR: dataDir }, 'bash')
}

/** Runs a program of this folder, whose files cannot grow beyond the limit. Returns the JSON that it prints. */
async function runLimited(program: string, ...words: readonly string[]): Promise<unknown> {
  const command = `ulimit -f ${FILE_KIB_MAX}; exec "$0" "$@"`
  const path = new URL(program, import.meta.url).pathname
  const { stdout } = await promisify(execFile)('bash', ['-c', command, process.execPath, path, ...words])
  return JSON.parse(stdout)
}
