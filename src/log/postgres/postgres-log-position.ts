// Sets the first position of the log in PostgreSQL when it continues an embedded log.
import { LogConnections } from './postgres-log-connections.ts'
import { CREATE_LOG, skipPositions } from './postgres-log-table.ts'

/** See `continueAfter`. */
export async function continueTableAfter(url: string, position: number): Promise<void> {
  const connections = new LogConnections(url, 1)
  await connections.create(CREATE_LOG)
  try {
    await connections.ask(skipPositions(position))
  } finally {
    await connections.close()
  }
}
