// Tells people where a log is, without the users and passwords that addresses hold.
import { logPathOf, type LogLocation } from './open-log.ts'

export function describeLogLocation(place: LogLocation): string {
  const { databaseUrl, natsUrl } = place
  if (natsUrl !== undefined) return `NATS JetStream (${natsUrl.split(',').map(toShownAddress).join(', ')})`
  if (databaseUrl !== undefined) return `PostgreSQL (${toShownAddress(databaseUrl)})`
  return logPathOf(place)
}

function toShownAddress(url: string): string {
  const { host, pathname } = new URL(url)
  return host + pathname
}
