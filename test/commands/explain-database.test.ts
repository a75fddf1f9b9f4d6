// What operators are told about a PostgreSQL that cannot be used: which setting names it, why, what to do, and no password.
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startOwnPostgres } from '../support/own-postgres.ts'
import { failureOf, run, runJson } from '../support/program.ts'
import { describeOnPostgres, makePlace, type TestPlace } from '../support/stores.ts'

// Every command is a process of its own, and a busy machine starts them slowly.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const SECRET = 'hunter2hunter2'
const COMMANDS = [['workspace', 'list'], ['workspace', 'create', 'shop'], ['serve'], ['serve', '--role', 'pipeline']]

/** The one line that all commands say. */
async function saidOf(databaseUrl: string): Promise<string> {
  const environment = { DATABASE_URL: databaseUrl, PORT: '0', LOG_LEVEL: 'warn' }
  const said = new Set<string>()
  for (const args of COMMANDS) {
    const { status, stdout, stderr } = await run(args, environment)
    expect({ args, status, stdout }).toEqual({ args, status: 1, stdout: '' })
    expect(stderr).not.toContain(SECRET)
    said.add(stderr)
  }
  expect(said.size).toBe(1)
  return [...said].join('')
}

describe('A database where nobody answers', () => {
  it('is named with why and what to do', async () => {
    expect(await saidOf(`postgres://bob:${SECRET}@127.0.0.1:1/none`)).toBe(
      'tidings: The database cannot be used.\n' +
        '  DATABASE_URL names a PostgreSQL server at 127.0.0.1:1 that is unreachable (connect ECONNREFUSED 127.0.0.1:1); ' +
        'check that it is running and that the address is right\n',
    )
  })

  it('is named too where its certificates are not there', async () => {
    const said = await saidOf(`postgres://bob:${SECRET}@127.0.0.1:1/none?sslrootcert=/nowhere/ca.pem`)
    expect(said).toMatch(
      /^ {2}DATABASE_URL names a PostgreSQL server at 127.0.0.1:1 that is unreachable \(.*nowhere\/ca.pem/m,
    )
  })

  it('is one object with --json', async () => {
    const ended = await runJson(['workspace', 'list'], { DATABASE_URL: `postgres://bob:${SECRET}@127.0.0.1:1/none` })
    expect(failureOf(ended)).toMatchObject({ status: 1, code: 'unavailable', fields: ['DATABASE_URL'] })
    expect(ended.stderr).toBe('')
  })
})

describeOnPostgres('A server of databases', () => {
  let place: TestPlace

  beforeAll(async () => void (place = await makePlace('postgres')))
  afterAll(() => place.remove())

  /** The address of the test's database, changed. */
  function changed(change: (url: URL) => void): string {
    const url = new URL(place.databaseUrl as string)
    url.password = SECRET
    change(url)
    return url.href
  }

  it('that does not know the user is named', async () => {
    const said = await saidOf(changed((url) => void (url.username = 'tidings_nobody')))
    expect(said).toMatch(/^ {2}DATABASE_URL names a PostgreSQL server at \S+ that rejects this user \(.*nobody/m)
    expect(said).toContain('correct the user and password, or pg_hba.conf')
  })

  it('that does not have the one that is named says so', async () => {
    const said = await saidOf(changed((url) => void (url.pathname = '/tidings_nowhere')))
    expect(said).toMatch(/^ {2}DATABASE_URL names a database that does not exist \(.*tidings_nowhere.*\); create it/m)
  })

  it('is told of by the option of a move', async () => {
    const source = { DATA_DIR: place.dataDir }
    await run(['workspace', 'create', 'main'], source)
    await run(['backup', `${place.dataDir}/makes-the-log.db`], source)
    const to = changed((url) => void (url.pathname = '/tidings_nowhere'))
    const ended = await runJson(['move', '--to', to], source)
    expect(failureOf(ended)).toMatchObject({ status: 1, code: 'unavailable', fields: ['--to'] })
    expect(JSON.stringify(ended)).not.toContain(SECRET)
  })
})

const postgres = await startOwnPostgres()
afterAll(() => postgres?.remove())

describe.skipIf(postgres === undefined)('A server that asks for a password', () => {
  it('and refuses it is named', async () => {
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
    expect(await saidOf(url.href)).toMatch(/rejects this user \(password authentication failed for user "asked"\)/)
  })
})
