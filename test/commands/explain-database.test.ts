// Checks what operators read about an unusable PostgreSQL: the setting that names it, the reason, what to do, and no password.
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startOwnPostgres } from '../support/own-postgres.ts'
import { failureOf, run, runJson } from '../support/program.ts'
import { describeOnPostgres, makeLocation, type TestLocation } from '../support/stores.ts'

// Every command is a process of its own, and a busy machine starts them slowly.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const SECRET = 'hunter2hunter2'
const COMMANDS = [['workspace', 'list'], ['workspace', 'create', 'shop'], ['serve'], ['serve', '--role', 'pipeline']]

/** The message that all commands print, which must be the same. */
async function messageOf(databaseUrl: string): Promise<string> {
  const environment = { DATABASE_URL: databaseUrl, PORT: '0', LOG_LEVEL: 'warn' }
  const messages = new Set<string>()
  for (const args of COMMANDS) {
    const { status, stdout, stderr } = await run(args, environment)
    expect({ args, status, stdout }).toEqual({ args, status: 1, stdout: '' })
    expect(stderr).not.toContain(SECRET)
    messages.add(stderr)
  }
  expect(messages.size).toBe(1)
  return [...messages].join('')
}

describe('An unreachable PostgreSQL server', () => {
  it('is reported with its setting, the reason and what to check', async () => {
    expect(await messageOf(`postgres://bob:${SECRET}@127.0.0.1:1/none`)).toBe(
      'tidings: The database cannot be used.\n' +
        '  DATABASE_URL names a PostgreSQL server at 127.0.0.1:1 that is unreachable (the connection was refused); ' +
        'check that it is running and that the address is right\n',
    )
  })

  it('is also reported if its certificates do not exist', async () => {
    const message = await messageOf(`postgres://bob:${SECRET}@127.0.0.1:1/none?sslrootcert=/nowhere/ca.pem`)
    expect(message).toMatch(
      /^ {2}DATABASE_URL names a PostgreSQL server at 127.0.0.1:1 that is unreachable \(.*nowhere\/ca.pem/m,
    )
  })

  it('is reported as one object with --json', async () => {
    const ended = await runJson(['workspace', 'list'], { DATABASE_URL: `postgres://bob:${SECRET}@127.0.0.1:1/none` })
    expect(failureOf(ended)).toMatchObject({ status: 1, code: 'unavailable', fields: ['DATABASE_URL'] })
    expect(ended.stderr).toBe('')
  })
})

describeOnPostgres('A PostgreSQL server', () => {
  let location: TestLocation

  beforeAll(async () => void (location = await makeLocation('postgres')))
  afterAll(() => location.remove())

  /** The address of the test's database, changed. */
  function changed(change: (url: URL) => void): string {
    const url = new URL(location.databaseUrl as string)
    url.password = SECRET
    change(url)
    return url.href
  }

  it('is reported if it rejects the user', async () => {
    const message = await messageOf(changed((url) => void (url.username = 'tidings_nobody')))
    expect(message).toMatch(/^ {2}DATABASE_URL names a PostgreSQL server at \S+ that rejects this user \(.*nobody/m)
    expect(message).toContain('correct the user and password, or pg_hba.conf')
  })

  it('is reported if it lacks the database', async () => {
    const message = await messageOf(changed((url) => void (url.pathname = '/tidings_nowhere')))
    expect(message).toMatch(
      /^ {2}DATABASE_URL names a database that does not exist \(.*tidings_nowhere.*\); create it/m,
    )
  })

  it('is reported under the option --to of a move', async () => {
    const source = { DATA_DIR: location.dataDir }
    await run(['workspace', 'create', 'main'], source)
    await run(['backup', `${location.dataDir}/makes-the-log.db`], source)
    const to = changed((url) => void (url.pathname = '/tidings_nowhere'))
    const ended = await runJson(['move', '--to', to], source)
    expect(failureOf(ended)).toMatchObject({ status: 1, code: 'unavailable', fields: ['--to'] })
    expect(JSON.stringify(ended)).not.toContain(SECRET)
  })
})

const postgres = await startOwnPostgres()
afterAll(() => postgres?.remove())

describe.skipIf(postgres === undefined)('A PostgreSQL server that requires a password', () => {
  it('is reported if it rejects the password', async () => {
    const url = new URL(postgres?.url as string)
    const client = new Client({ connectionString: url.href })
    await client.connect()
    const [{ hba_file: rules } = { hba_file: '' }] = (await client.query<{ hba_file: string }>('show hba_file')).rows
    await client.query(`create role asked login password 'right'`)
    await client.query(`copy (select 'host all asked 127.0.0.1/32 scram-sha-256') to '${rules}'`)
    await client.query('select pg_reload_conf()')
    await client.end()
    url.username = 'asked'
    url.password = SECRET
    expect(await messageOf(url.href)).toMatch(/rejects this user \(password authentication failed for user "asked"\)/)
  })
})
