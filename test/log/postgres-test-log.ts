// An empty log in PostgreSQL, in a database of its own, and a second connection that inspects and disturbs it.
import { Client, types, type CustomTypesConfig, type QueryConfig } from 'pg'
import type { NewEntry } from '../../src/log/event-log.ts'
import { PostgresAppend } from '../../src/log/postgres/postgres-append.ts'
import { openPostgresLogReader } from '../../src/log/postgres/postgres-log-reader.ts'
import { appendEntries } from '../../src/log/postgres/postgres-log-table.ts'
import { openPostgresLog } from '../../src/log/postgres/postgres-log.ts'
import type { TestLog } from './log-contract.ts'
import { until } from '../support/server.ts'
import { makeLocation } from '../support/stores.ts'

export interface PostgresTestLog extends TestLog {
  readonly url: string
}

export async function makePostgresTestLog(): Promise<PostgresTestLog> {
  const location = await makeLocation('postgres')
  const url = location.databaseUrl as string
  return {
    url,
    stampsReceipt: true,
    openWriter: (bounds) => openPostgresLog({ url, bounds }),
    openReader: () => openPostgresLogReader(url),
    remove: () => location.remove(),
  }
}

export interface SegmentScan {
  readonly table: string
  readonly index: string | null
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Loops': number
  readonly Plans?: readonly PlanNode[]
}

/** Another user of the same database. */
export class Bystander {
  readonly #client: Client

  private constructor(client: Client) {
    this.#client = client
  }

  static async connect({ url }: PostgresTestLog): Promise<Bystander> {
    const client = new Client({ connectionString: url, types: { getTypeParser: parserOf } as CustomTypesConfig })
    await client.connect()
    return new Bystander(client)
  }

  /** The first column of each row. */
  async ask<Value>(text: string): Promise<Value[]> {
    const { rows } = await this.#client.query<[Value]>({ text, rowMode: 'array' })
    return rows.map(([value]) => value)
  }

  /** The segments that a query scans, and through which index; null for a sequential scan. */
  async listScans({ text, values }: QueryConfig): Promise<SegmentScan[]> {
    await this.ask('set enable_seqscan = off')
    const explained = await this.#client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({
      text: `explain (analyze, format json) ${text}`,
      values,
    })
    const plan = explained.rows[0]?.['QUERY PLAN'][0].Plan
    return plan ? [...segmentScans(plan, '')] : []
  }

  /** Appends as a log does, in the open transaction. */
  async append(entry: NewEntry): Promise<void> {
    await this.#client.query(appendEntries(new PostgresAppend([entry]).columns(), 60_000))
  }

  /** Resolves when this many other connections wait for a lock. */
  async othersWait(count = 1): Promise<void> {
    await until('others wait for the lock', async () => {
      const waiting = `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return (await this.ask<number>(waiting))[0] === count
    })
  }

  /** Ends all other connections to the database, as a restart does. */
  async endOthers(): Promise<void> {
    const others = 'datname = current_database() and pid <> pg_backend_pid()'
    await this.ask(`select pg_terminate_backend(pid) from pg_stat_activity where ${others}`)
  }

  /** Changes a default of the database, for new connections. */
  async setDefault(setting: string, value: string): Promise<void> {
    const change = `format('alter database %I set ${setting} = ''${value}''', current_database())`
    await this.ask(`do $$ begin execute ${change}; end $$`)
  }

  /** Sets the clock of new connections, and of those opened after an earlier call. */
  async setClock(instant: number): Promise<void> {
    await this.ask(`
      create or replace function public.clock_timestamp() returns timestamptz language sql
      as 'select to_timestamp(${instant} / 1000.0)'`)
    const change = `format('alter database %I set search_path = public, pg_catalog', current_database())`
    await this.ask(`do $$ begin execute ${change}; end $$`)
  }

  close(): Promise<void> {
    return this.#client.end()
  }
}

/** Counts and positions are bigint, which the driver returns as text. */
function parserOf(oid: typeof types.builtins.INT8, format?: 'text'): unknown {
  return oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format)
}

function* segmentScans(node: PlanNode, above: string): Generator<SegmentScan> {
  const table = node['Relation Name'] ?? above
  const isScan = node['Node Type'].endsWith('Scan') && node['Node Type'] !== 'Bitmap Heap Scan'
  const isSegment = table.startsWith('log_entries_')
  if (isScan && isSegment && node['Actual Loops'] > 0) yield { table, index: node['Index Name'] ?? null }
  for (const below of node.Plans ?? []) yield* segmentScans(below, table)
}
