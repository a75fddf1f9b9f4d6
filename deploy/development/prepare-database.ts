// The database of a cluster for development: the one that is named, else one of its own, made where it is missing.
import { Client } from 'pg'
import type { ClusterLog } from './cluster-settings.ts'

const SERVER = 'postgres://postgres@127.0.0.1:5432'
/** A database belongs to one log: what it has applied are positions of that log. */
const NAMES: Readonly<Record<ClusterLog, string>> = {
  postgres: 'tidings_cluster',
  jetstream: 'tidings_cluster_jetstream',
}
const CONNECT_WAIT_MS = 3_000
const DUPLICATE_DATABASE = '42P04'

/** The address of a database that is there. Throws an Error that says what to do when PostgreSQL does not answer. */
export async function prepareDatabase(given: string | undefined, log: ClusterLog): Promise<string> {
  if (given !== undefined) {
    await ask(given, 'select 1')
    return given
  }
  await ask(`${SERVER}/postgres`, `create database ${NAMES[log]}`).catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== DUPLICATE_DATABASE) throw error
  })
  return `${SERVER}/${NAMES[log]}`
}

async function ask(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_WAIT_MS })
  try {
    await client.connect()
  } catch (error) {
    const { hostname, port, pathname } = new URL(url)
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`PostgreSQL does not answer at ${hostname}:${port}${pathname} (${reason}): set DATABASE_URL.`, {
      cause: error,
    })
  }
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
