// Notes the queries of a piece of work while it runs, so that tests can look at their plans.
import { createQueryId, type Compilable, type KyselyPlugin, type QueryId, type RootOperationNode } from 'kysely'
import type { Database, Store } from '../../src/store/store.ts'

/** Runs `work` in a transaction and returns its queries, in order. */
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
  // What tests look at in each query would otherwise pass where there is none.
  if (nodes.length === 0) throw new Error('no query was sent')
  const executor = database.query.getExecutor()
  return nodes.map((node) => ({ compile: () => executor.compileQuery(node, createQueryId()) }))
}

/** The same database, which notes how many rows each query returned. */
export function watchRows(database: Database): { readonly database: Database; readonly rowsOfQueries: number[] } {
  const rowsOfQueries: number[] = []
  const watcher: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      rowsOfQueries.push(result.rows.length)
      return result
    },
  }
  const watched = <Watched extends Store>(store: Watched) => ({ ...store, query: store.query.withPlugin(watcher) })
  const write: Database['write'] = (change) => database.write((store) => change(watched(store)))
  return { database: { ...watched(database), write }, rowsOfQueries }
}

/** How many values of each column a piece of work reads, in a transaction. */
export async function countValues(
  database: Database,
  work: (store: Store) => Promise<unknown>,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  const counter: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      for (const column of result.rows.flatMap(Object.keys)) counts.set(column, (counts.get(column) ?? 0) + 1)
      return result
    },
  }
  await database.write((store) => {
    counts.clear()
    return work({ ...store, query: store.query.withPlugin(counter) })
  })
  return counts
}

/** The same database, which counts the rows that its transactions read. */
export function countRows(database: Database): { readonly database: Database; readonly rows: () => number } {
  let rows = 0
  const reads = new WeakSet<QueryId>()
  const counter: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      // What is written may give rows back, too.
      if (node.kind === 'SelectQueryNode') reads.add(queryId)
      return node
    },
    async transformResult({ result, queryId }) {
      if (reads.has(queryId)) rows += result.rows.length
      return result
    },
  }
  const write: Database['write'] = (change) => {
    return database.write((store) => change({ ...store, query: store.query.withPlugin(counter) }))
  }
  return { database: { ...database, write }, rows: () => rows }
}
