// A store in which something else happens between two queries, so that tests need no luck to hit the moments of a race.
import { sql, type KyselyPlugin, type OperationNode } from 'kysely'
import type { Database, Store } from '../../src/store/store.ts'
import { until } from './server.ts'

/**
 * The same tables, where `work` is done after each of the first `times` queries that read what has this name, a table or a
 * column, before the next query.
 */
export function meddled<Meddled extends Store>(
  store: Meddled,
  name: string,
  work: () => Promise<void>,
  times = 1,
): Meddled {
  const awaited = new WeakSet<object>()
  let left = times
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      if (hasName(node, name)) awaited.add(queryId)
      return node
    },
    async transformResult({ result, queryId }) {
      if (left === 0 || !awaited.has(queryId)) return result
      left--
      await work()
      return result
    },
  }
  return { ...store, query: store.query.withPlugin(plugin) }
}

/** Which transaction of a database, counted from 1, and after which of its queries. */
interface Moment {
  readonly transaction: number
  readonly name: string
}

/**
 * The same database in PostgreSQL, where `work` begins in the middle of a transaction, which goes on once `work` has ended or waits
 * for a lock. `ended` waits for its end.
 */
export function overtaken(
  database: Database,
  { transaction, name }: Moment,
  work: () => Promise<unknown>,
): { readonly database: Database; readonly ended: () => Promise<void> } {
  let transactions = 0
  let isEnded = false
  let ended: Promise<unknown> | undefined
  const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const begin = async () => {
    ended = work().finally(() => (isEnded = true))
    await until('the work beside has ended or waits', async () => {
      return isEnded || (await waiting.execute(database.query)).rows.length > 0
    })
  }
  const write: Database['write'] = (change) => {
    const isMoment = ++transactions === transaction
    return database.write((store) => change(isMoment ? meddled(store, name, begin) : store))
  }
  return { database: { ...database, write }, ended: async () => void (await ended) }
}

/** Whether the name of a table or a column stands anywhere in a query. */
function hasName(node: OperationNode, name: string): boolean {
  return JSON.stringify(node).includes(`{"kind":"IdentifierNode","name":"${name}"}`)
}
