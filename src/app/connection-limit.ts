// Decides how many connections a server takes: so many that the process can still open its own files, threads and databases.
import type { FastifyBaseLogger } from 'fastify'
import { HTTP_LIMITS } from '../http/http-limits.ts'
import { readDescriptorLimit } from '../runtime/descriptor-limit.ts'
import { ConfigError } from './config.ts'

/** Descriptors that no connection gets. An embedded server has 64 open, and one with PostgreSQL 43 while it is busy. */
const DESCRIPTORS_RESERVED = 200

/** Reports a smaller limit than usual. Throws ConfigError if the system leaves no connection. */
export function findConnectionsMax(diagnostics: FastifyBaseLogger): number {
  const descriptors = readDescriptorLimit()
  const connectionsMax = Math.min(HTTP_LIMITS.connectionsMax, descriptors - DESCRIPTORS_RESERVED)
  if (connectionsMax < 1) {
    const problem = `allows this process ${descriptors} open files; it needs more than ${DESCRIPTORS_RESERVED}`
    throw new ConfigError([{ field: 'ulimit -n', problem }])
  }
  if (connectionsMax < HTTP_LIMITS.connectionsMax) {
    const most = `at most ${connectionsMax} connections at once instead of ${HTTP_LIMITS.connectionsMax}`
    diagnostics.warn(`${most}, because ulimit -n allows this process ${descriptors} open files`)
  }
  return connectionsMax
}
