// Finds the database of a development cluster: the one in the settings, or one of its own, which it creates and drops again.
import { randomBytes } from 'node:crypto'
import { Client } from 'pg'

const SERVER = 'postgres://postgres@127.0.0.1:5432'
const CONNECT_WAIT_MS = 3_000

/** Rejects with an Error that says what to do if PostgreSQL does not respond. */
export async function checkDatabase(url: string): Promise<void> {
  await ask(url, 'select 1')
}

/** A database that exists as long as the cluster: two clusters on one machine do not share one. */
export class OwnDatabase {
  readonly #name = `tidings_cluster_${process.pid}_${randomBytes(4).toString('hex')}`
  #creating: Promise<void> | undefined

  get url(): string {
    return `${SERVER}/${this.#name}`
  }

  /** Rejects with an Error that says what to do if it cannot be created. */
  async create(): Promise<void> {
    this.#creating = ask(`${SERVER}/postgres`, `create database ${this.#name}`)
    await this.#creating
  }

  /** Drops the database, even if the statement that creates it is still running. */
  async stop(): Promise<void> {
    const isCreated = await this.#creating?.then(
      () => true,
      () => false,
    )
    if (!isCreated) return
    await ask(`${SERVER}/postgres`, `drop database ${this.#name} with (force)`).catch((error: unknown) => {
      process.stderr.write(`The database ${this.#name} could not be dropped: ${messageOf(error)}\n`)
    })
  }
}

async function ask(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_WAIT_MS })
  const { hostname, port, pathname } = new URL(url)
  const place = `${hostname}:${port}${pathname}`
  try {
    await client.connect()
  } catch (cause) {
    throw new Error(`PostgreSQL does not respond at ${place} (${messageOf(cause)}). Set DATABASE_URL.`, { cause })
  }
  try {
    await client.query(statement)
  } catch (cause) {
    throw new Error(`PostgreSQL at ${place} refused "${statement}" (${messageOf(cause)}). Set DATABASE_URL.`, { cause })
  } finally {
    await client.end()
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
