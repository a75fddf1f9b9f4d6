// Notes the queries of a piece of work while it runs, so that tests can look at their plans.
import { createQueryId, type Compilable, type KyselyPlugin, type QueryId, type RootOperationNode } from 'kysely'
import type { Database, Store } from '../src/store/store.ts'

/** Runs `work` in a transaction and gives its queries, in order. */
export async function recordQueries(
  database: Database,
  work: (store: Store) => Promise<unknown>,
): Promise<Compilable[]> {
  const nodes: RootOperationNode[] = []
  // Queries inside of others pass here too; only one that is sent has a result.
  const built = new WeakMap<QueryId, RootOperationNode>()
  const recorder: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      built.set(queryId, node)
      return node
    },
    async transformResult({ result, queryId }) {
      const node = built.get(queryId)
      if (node) nodes.push(node)
      return result
    },
  }
  await database.write((store) => {
    nodes.length = 0
    return work({ ...store, query: store.query.withPlugin(recorder) })
  })
  const executor = database.query.getExecutor()
  return nodes.map((node) => ({ compile: () => executor.compileQuery(node, createQueryId()) }))
}
