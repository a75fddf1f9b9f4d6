// The PostgreSQL server that all tests use: that of TEST_DATABASE_URL, which `setup/postgres-server.ts` sets if it starts one, or one that
// answers on this machine.
import { Client } from 'pg'

const DEFAULT_URL = 'postgres://postgres@127.0.0.1:5432/postgres'
const CONNECT_WAIT_MS = 2_000

/** Where it answers; undefined, with a line that says why, when there is none. Throws when one is required. */
export async function findPostgres(): Promise<string | undefined> {
  const url = process.env['TEST_DATABASE_URL'] ?? DEFAULT_URL
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_WAIT_MS })
  try {
    await client.connect()
    await client.end()
    return url
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    if (process.env['REQUIRE_POSTGRES'] === '1') {
      throw new Error(`PostgreSQL is required and not there: ${reason}`, { cause: error })
    }
    process.stderr.write(`skipped on PostgreSQL: none answers (${reason}); set TEST_DATABASE_URL\n`)
    return undefined
  }
}

/** Carries out one statement in the database of an address. */
export async function administer(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

/** The address of another database of the same server. */
export function besideDatabase(url: string, name: string): string {
  const beside = new URL(url)
  beside.pathname = `/${name}`
  return beside.href
}
