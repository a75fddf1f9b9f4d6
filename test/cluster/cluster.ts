// A cluster for tests: processes with the roles `http` and `pipeline`, one database, one log, and proxies between them that can cut
// their connections.
import { Client } from 'pg'
import { LIMIT_DEFAULTS } from '../../src/core/workspace.ts'
import { createWorkspace, type NewWorkspace } from '../../src/actions/create-workspace.ts'
import { startProxy, type CuttableProxy } from '../support/cuttable-proxy.ts'
import { PERSON } from '../support/statistics/history-entries.ts'
import { startNatsServers, type NatsServers } from '../support/nats-servers.ts'
import { startOwnPostgres, type OwnPostgres } from '../support/own-postgres.ts'
import { basic, startServing, type Environment, type ServingProgram } from '../support/program.ts'
import { makeLocation, openTestDatabase } from '../support/stores.ts'

export type LogKind = 'postgres' | 'jetstream'
export type Role = 'http' | 'pipeline'

const PROCESSES_PER_ROLE = 2
export const NATS_SERVERS = 3
/** Rate limits that no load reaches. */
const LIMIT = 10_000_000

export interface AskOptions {
  /** The index of the HTTP process, modulo their number. */
  readonly target?: number
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export interface ClusterAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

/** The connections of the processes of one role to the servers of one kind. */
export class Wire {
  readonly url: string
  readonly #proxies: readonly CuttableProxy[]

  private constructor(proxies: readonly CuttableProxy[]) {
    this.#proxies = proxies
    this.url = proxies.map(({ url }) => url).join(',')
  }

  static async between(urls: string): Promise<Wire> {
    return new Wire(await Promise.all(urls.split(',').map(startProxy)))
  }

  /** Drops all packets, and keeps the connections open. */
  drop(): void {
    for (const proxy of this.#proxies) proxy.hold()
  }

  /** Breaks all connections and refuses new ones. */
  cut(): void {
    for (const proxy of this.#proxies) proxy.cut()
  }

  mend(): void {
    for (const proxy of this.#proxies) proxy.restore()
  }

  async remove(): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy.stop()))
  }
}

interface Parts {
  readonly database: { readonly url: string; readonly own: OwnPostgres | undefined; remove(): Promise<void> }
  readonly nats: NatsServers | undefined
  readonly workspace: NewWorkspace
  /** By role. */
  readonly toDatabase: Readonly<Record<Role, Wire>>
  readonly toLog: Readonly<Record<Role, Wire>>
}

export class Cluster {
  readonly parts: Parts
  readonly #processes: { readonly role: Role; readonly program: ServingProgram }[] = []

  #removed: Promise<(number | null)[]> | undefined

  private constructor(parts: Parts) {
    this.parts = parts
  }

  /** Two processes of each role. */
  static async start(log: LogKind): Promise<Cluster> {
    const cluster = new Cluster(await startParts(log))
    try {
      const roles = Array.from({ length: PROCESSES_PER_ROLE }, () => ['http', 'pipeline'] as const).flat()
      for (const role of roles) await cluster.add(role)
      return cluster
    } catch (error) {
      await cluster.remove()
      throw error
    }
  }

  /** Starts a process; resolves when it serves, or follows the log. */
  async add(role: Role): Promise<ServingProgram> {
    const { toDatabase, toLog, nats } = this.parts
    const environment: Environment = {
      DATABASE_URL: toDatabase[role].url,
      ...(nats && { NATS_URL: toLog[role].url }),
    }
    const program = await startServing(environment, ['--role', role])
    this.#processes.push({ role, program })
    return program
  }

  /** The running processes, in the order of their starts. */
  running(role: Role): ServingProgram[] {
    const isRunning = ({ child }: ServingProgram) => child.exitCode === null && child.signalCode === null
    return this.#processes.flatMap(({ role: its, program }) => (its === role && isRunning(program) ? [program] : []))
  }

  /** The environment of commands, which connect without the proxies. */
  get environment(): Environment {
    return { DATABASE_URL: this.parts.database.url, ...(this.parts.nats && { NATS_URL: this.parts.nats.url }) }
  }

  /** Sends a request for the workspace, with the key that it needs. */
  async ask(
    method: string,
    path: string,
    { target = 0, body, headers, signal }: AskOptions = {},
  ): Promise<ClusterAnswer> {
    const { id, dataKey, reportsKey } = this.parts.workspace
    const processes = this.running('http')
    const url = processes[target % processes.length]?.started.url
    const key = path.startsWith('/core-services') ? reportsKey : dataKey
    const response = await fetch(url + path, {
      method,
      headers: {
        ...headers,
        authorization: basic(id, key),
        'svc-appkey': id,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }

  /** How many partitions each running pipeline follows, in descending order. */
  async shares(): Promise<number[]> {
    const client = new Client({ connectionString: this.parts.database.url })
    await client.connect()
    try {
      const { rows } = await client.query<{ count: string }>(
        `select count(*) from partition_leases join pipeline_members using (holder)
         where expires_at > extract(epoch from clock_timestamp()) * 1000 group by holder order by count(*) desc`,
      )
      return rows.map(({ count }) => Number(count))
    } finally {
      await client.end()
    }
  }

  /** The failures that each process has logged. */
  diagnostics(): string {
    return this.#processes.map(({ role, program }) => `${role}: ${program.output().stderr}`).join('\n')
  }

  /** Stops everything in order. Returns the exit status of each process that was still running. May be called again. */
  remove(): Promise<(number | null)[]> {
    this.#removed ??= this.#remove()
    return this.#removed
  }

  async #remove(): Promise<(number | null)[]> {
    const { database, nats, toDatabase, toLog } = this.parts
    const running = [...this.running('http'), ...this.running('pipeline')]
    const ended = await Promise.all(running.map((program) => program.stop()))
    const wires = new Set([...Object.values(toDatabase), ...Object.values(toLog)])
    await Promise.all([...wires].map((wire) => wire.remove()))
    await nats?.remove()
    await database.remove()
    return ended.map(({ status }) => status)
  }
}

async function startParts(log: LogKind): Promise<Parts> {
  const database = await startDatabase()
  // The servers do not advertise their addresses, so that clients use those of the proxies only.
  const nats = log === 'jetstream' ? await startNatsServers(NATS_SERVERS, ['--no_advertise']) : undefined
  const toDatabase = { http: await Wire.between(database.url), pipeline: await Wire.between(database.url) }
  const toLog = nats ? { http: await Wire.between(nats.url), pipeline: await Wire.between(nats.url) } : toDatabase
  const store = await openTestDatabase({ dataDir: '', databaseUrl: database.url })
  try {
    const limits = { ...LIMIT_DEFAULTS, ...NO_LIMITS }
    const workspace = await createWorkspace(store, 'main', { limits, identityResolution: [PERSON] }, Date.now())
    return { database, nats, workspace, toDatabase, toLog }
  } finally {
    await store.close()
  }
}

const NO_LIMITS = { track_events_per_minute: LIMIT, management_per_minute: LIMIT, campaign_stats_per_minute: LIMIT }

/** A PostgreSQL server of its own if possible, else a database on the server that all tests share. */
async function startDatabase(): Promise<Parts['database']> {
  const own = await startOwnPostgres()
  if (own) return { url: own.url, own, remove: () => own.remove() }
  const location = await makeLocation('postgres')
  return { url: location.databaseUrl as string, own: undefined, remove: () => location.remove() }
}
