// A store in which something else happens between two queries, so that tests need no luck to meet what races would bring.
import type { KyselyPlugin, OperationNode } from 'kysely'
import type { Store } from '../src/store/store.ts'

/** The same tables, where `work` is done once, after the first query that reads from `table` and before the next. */
export function meddled<Meddled extends Store>(store: Meddled, table: string, work: () => Promise<void>): Meddled {
  const awaited = new WeakSet<object>()
  let isDone = false
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      if (readsFrom(node, table)) awaited.add(queryId)
      return node
    },
    async transformResult({ result, queryId }) {
      if (isDone || !awaited.has(queryId)) return result
      isDone = true
      await work()
      return result
    },
  }
  return { ...store, query: store.query.withPlugin(plugin) }
}

/** Whether the name of a table stands anywhere in a query. */
function readsFrom(node: OperationNode, table: string): boolean {
  return JSON.stringify(node).includes(`{"kind":"IdentifierNode","name":"${table}"}`)
}
