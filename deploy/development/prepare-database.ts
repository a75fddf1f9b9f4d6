// Finds the database of a development cluster: the one in the settings, else one of its own, which it creates if necessary.
import { Client } from 'pg'
import type { ClusterLog } from './cluster-settings.ts'

const SERVER = 'postgres://postgres@127.0.0.1:5432'
/** A database belongs to one log, because its cursors are positions of that log. */
const NAMES: Readonly<Record<ClusterLog, string>> = {
  postgres: 'tidings_cluster',
  jetstream: 'tidings_cluster_jetstream',
}
const CONNECT_WAIT_MS = 3_000
const DUPLICATE_DATABASE = '42P04'

/** The address of an existing database. Rejects with an Error that says what to do if PostgreSQL does not respond. */
export async function prepareDatabase(configured: string | undefined, log: ClusterLog): Promise<string> {
  if (configured !== undefined) {
    await ask(configured, 'select 1')
    return configured
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
    throw new Error(`PostgreSQL does not respond at ${hostname}:${port}${pathname} (${reason}). Set DATABASE_URL.`, {
      cause: error,
    })
  }
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
