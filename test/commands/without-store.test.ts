// Checks commands without a store, or with one of another version: only the commands meant for that make a store or migrate it.
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { COMMANDS } from '../../src/commands/commands.ts'
import { openDatabase } from '../../src/store/open-database.ts'
import { withoutPassword } from '../../src/store/postgres/without-password.ts'
import { isOlder, makeDraft, makeOlder } from '../store/older-tables.ts'
import { callCommand } from '../support/calls/call-command.ts'
import { environmentOf, failureOf, runJson, startServing } from '../support/program.ts'
import { describeEachStore, makeLocation, openTestDatabase, type TestLocation } from '../support/stores.ts'

// Every command is a process of its own, and a busy machine starts them slowly.
vi.setConfig({ testTimeout: 120_000 })

const MAKERS = ['serve', 'workspace create', 'restore', 'move']
/** Not included here: they are for the embedded store, and have tests of their own. */
const FOR_FILES = ['backup', 'log check', 'log skip']
/** They use no store. */
const WITHOUT_STORE = ['completion', 'import']
const OPERANDS: Readonly<Record<string, string>> = {
  ID: 'main',
  NAME: 'Offers',
  POSITION: '1',
  'KEY=VALUE…': 'name=x',
  'data|reports': 'data',
  WORKSPACE: 'main',
  CAMPAIGN: 'campaign-1',
  SENDER_ID: 'sender-1',
  EMAIL: 'anna@example.com',
}
/** Values of the options that some of them require. */
const REQUIRED: Readonly<Record<string, string>> = {
  name: 'Shop',
  'from-email': 'news@shop.example',
  'from-name': 'Shop',
  host: '127.0.0.1',
  port: '25',
  security: 'none',
  role: 'owner',
}

/** Command lines of all other commands. */
const OTHERS = COMMANDS.filter(({ name }) => ![...MAKERS, ...FOR_FILES, ...WITHOUT_STORE].includes(name)).map(
  (command) => {
    const { name, operands, options } = command
    const agreed = 'yes' in options ? ['--yes'] : []
    const required = Object.entries(options).flatMap(([option, { isRequired }]) => {
      return isRequired ? [`--${option}`, REQUIRED[option] as string] : []
    })
    return [...name.split(' '), ...operands.map((operand) => OPERANDS[operand] as string), ...required, ...agreed]
  },
)

describeEachStore('Commands without a store', (kind) => {
  let location: TestLocation

  beforeEach(async () => void (location = await makeLocation(kind)))
  afterEach(() => location.remove())

  it('report that, and make none', async () => {
    const mistyped = join(location.dataDir, 'mistyped')
    const environment = { ...environmentOf(location), DATA_DIR: mistyped }
    const name = location.databaseUrl === undefined ? resolve(mistyped) : withoutPassword(location.databaseUrl)
    const refusal = {
      status: 1,
      code: 'not_found',
      message: expect.stringContaining(`${name} contains no store.`) as string,
    }
    for (const args of OTHERS) {
      expect({ args, ...failureOf(await callCommand(args, environment)) }).toMatchObject({ args, ...refusal })
    }
    const ended = await runJson(OTHERS[0] as string[], environment)
    expect({ ...failureOf(ended), stderr: ended.stderr }).toMatchObject({ ...refusal, stderr: '' })
    expect(existsSync(mistyped)).toBe(false)
    const database = openDatabase(location)
    const found = await tablesOf(database.kind).execute(database.query)
    await database.close()
    expect(found.rows).toEqual([])
  })
})

describe('A folder with an empty state.db', () => {
  it('is not treated as a store', async () => {
    const location = await makeLocation('sqlite')
    onTestFinished(() => location.remove())
    writeFileSync(join(location.dataDir, 'state.db'), '')
    const ended = await runJson(['workspace', 'list'], environmentOf(location))
    expect(failureOf(ended)).toMatchObject({ status: 1, code: 'not_found' })
    expect(readdirSync(location.dataDir).some((name) => name.startsWith('log.db'))).toBe(false)
  })
})

describeEachStore('Commands on a store of an older version', (kind) => {
  let location: TestLocation

  beforeAll(async () => {
    location = await makeLocation(kind)
    await callCommand(['workspace', 'create', 'main'], environmentOf(location))
    await makeOlder(location)
  })
  afterAll(() => location.remove())

  it('leave its tables unchanged, and say how to migrate them', async () => {
    for (const args of [
      ['workspace', 'list'],
      ['workspace', 'set', 'main', 'name=x'],
      ['statistics', 'rebuild'],
    ]) {
      const ended = await callCommand(args, environmentOf(location))
      expect({ args, ...failureOf(ended) }).toMatchObject({
        args,
        status: 1,
        code: 'conflict',
        message: expect.stringContaining('Back it up, then run `tidings serve` to migrate it.') as string,
      })
    }
    expect(await isOlder(location)).toBe(true)
  })

  it('work after it was served', async () => {
    const server = await startServing(environmentOf(location))
    await server.stop()
    expect(await isOlder(location)).toBe(false)
    const id = server.started.first_workspace?.workspace_id as string
    const shown = await callCommand(['workspace', 'show', id], environmentOf(location))
    expect(shown.body).toMatchObject({ workspace_id: id })
  })
})

describeEachStore('Commands on a store of an unreleased draft', (kind) => {
  it('say that it cannot be upgraded, and what to do', async () => {
    const location = await makeLocation(kind)
    onTestFinished(() => location.remove())
    await (await openTestDatabase(location)).close()
    await makeDraft(location)
    await expectConflict(location, /draft of Tidings and cannot be upgraded\. Start with an empty DATA_DIR/)
  })
})

describeEachStore('Commands on a store of a newer version', (kind) => {
  it('say what to do', async () => {
    const location = await makeLocation(kind)
    onTestFinished(() => location.remove())
    const database = await openTestDatabase(location)
    await database.write(({ query }) =>
      query.insertInto('migrations').values({ name: '9999-later', applied_at: 1 }).execute(),
    )
    await database.close()
    await expectConflict(location, /9999-later\. Use that version, or restore a backup/)
  })
})

/** Expects that every command is refused, and the server too. */
async function expectConflict(location: TestLocation, message: RegExp): Promise<void> {
  const refusal = { status: 1, code: 'conflict', message: expect.stringMatching(message) as string }
  const environment = environmentOf(location)
  for (const args of [
    ['workspace', 'list'],
    ['workspace', 'create', 'new'],
  ]) {
    expect(failureOf(await callCommand(args, environment))).toMatchObject(refusal)
  }
  const ended = await runJson(['serve'], { ...environment, PORT: '0', LOG_LEVEL: 'warn' })
  expect({ ...failureOf(ended), stderr: ended.stderr }).toMatchObject({ ...refusal, stderr: '' })
}

function tablesOf(kind: 'sqlite' | 'postgres') {
  return kind === 'sqlite'
    ? sql`select name from sqlite_master`
    : sql`select tablename from pg_tables where schemaname = 'public'`
}
