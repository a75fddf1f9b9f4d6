// The thread that runs the statements of operations, so that no search and no disk write blocks other requests. Started by
// `sqlite-database.ts`. Answers messages in the order they arrive.
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../../core/thrown.ts'
import { SqliteConnection, type SqlResult } from './sqlite-connection.ts'
import { StoreError } from '../store.ts'

export interface StatementMessage {
  readonly id: number
  readonly connection: 'reader' | 'writer'
  readonly sql: string
  readonly parameters: readonly unknown[]
}

export type StatementAnswer =
  | { readonly id: number; readonly result: SqlResult }
  | { readonly id: number; readonly failure: { reason: StoreError['reason']; driverCode: string; message: string } }

const port = parentPort
if (!port) throw new Error('sqlite-thread.ts is started as a thread')
const { path } = workerData as { path: string }
const connections = { writer: new SqliteConnection(path), reader: new SqliteConnection(path, { readOnly: true }) }

port.on('message', (message: StatementMessage | 'close') => {
  if (message === 'close') {
    connections.reader.close()
    connections.writer.close()
    port.close()
    return
  }
  port.postMessage(answer(message))
})

function answer({ id, connection, sql, parameters }: StatementMessage): StatementAnswer {
  try {
    return { id, result: connections[connection].execute(sql, parameters) }
  } catch (error) {
    // Messages lose classes; the main thread makes a StoreError again.
    if (error instanceof StoreError) {
      return { id, failure: { reason: error.reason, driverCode: error.driverCode, message: error.message } }
    }
    return { id, failure: { reason: 'other', driverCode: '', message: messageOf(error) } }
  }
}
