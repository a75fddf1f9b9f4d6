// A store in which something else happens between two queries, so that tests need no luck to hit the moments of a race.
import type { KyselyPlugin, OperationNode } from 'kysely'
import type { Store } from '../src/store/store.ts'

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

/** Whether the name of a table or a column stands anywhere in a query. */
function hasName(node: OperationNode, name: string): boolean {
  return JSON.stringify(node).includes(`{"kind":"IdentifierNode","name":"${name}"}`)
}
