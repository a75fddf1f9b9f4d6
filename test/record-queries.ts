// Notes the queries of a piece of work while it runs, so that tests can look at their plans.
import { createQueryId, type Compilable, type KyselyPlugin, type RootOperationNode } from 'kysely'
import type { Database, Store } from '../src/store/store.ts'

/** Runs `work` in a transaction and gives its queries, in order. */
export async function recordQueries(
  database: Database,
  work: (store: Store) => Promise<unknown>,
): Promise<Compilable[]> {
  const nodes: RootOperationNode[] = []
  const recorder: KyselyPlugin = {
    transformQuery({ node }) {
      nodes.push(node)
      return node
    },
    transformResult: async ({ result }) => result,
  }
  await database.write((store) => {
    nodes.length = 0
    return work({ ...store, query: store.query.withPlugin(recorder) })
  })
  const executor = database.query.getExecutor()
  return nodes.map((node) => ({ compile: () => executor.compileQuery(node, createQueryId()) }))
}
