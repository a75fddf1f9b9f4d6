// Describes where a log is, for messages. It leaves out the user names and passwords in addresses.
import { logPathOf, type LogLocation } from './open-log.ts'

export function describeLogLocation(location: LogLocation): string {
  const { databaseUrl, natsUrl } = location
  if (natsUrl !== undefined) return `NATS JetStream (${natsUrl.split(',').map(toShownAddress).join(', ')})`
  if (databaseUrl !== undefined) return `PostgreSQL (${toShownAddress(databaseUrl)})`
  return logPathOf(location)
}

function toShownAddress(url: string): string {
  const { host, pathname } = new URL(url)
  return host + pathname
}
