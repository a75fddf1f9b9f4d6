// Reads what this process and what it stands on are now, for the operation that shows it to people.
import { statSync } from 'node:fs'
import type { ProcessRole, SystemState } from '../../core/workspaces/system-state.ts'
import type { LogLag } from '../../http/operator/metrics.ts'
import type { Readiness } from '../../http/operator/readiness.ts'
import { isEmbedded, logPathOf } from '../../log/open-log.ts'
import { describeDatabase } from '../../store/database-size.ts'
import { MIGRATIONS } from '../../store/migrations.ts'
import { sqliteFilePaths } from '../../store/sqlite/sqlite-file-paths.ts'
import type { Database } from '../../store/store.ts'
import type { Config } from '../config.ts'
import { readVersion } from '../version.ts'

const SECOND_MS = 1_000

export interface SystemSources {
  readonly config: Config
  readonly database: Database
  readonly readiness: Readiness
  readonly roles: readonly ProcessRole[]
  readonly readLag: () => Promise<LogLag>
  readonly clock: () => number
}

export async function readSystem(sources: SystemSources): Promise<SystemState> {
  const { config, database, readiness, roles, readLag, clock } = sources
  const [store, lag, { problems }] = await Promise.all([
    describeDatabase(database),
    readLag(),
    readiness.findProblems(),
  ])
  return {
    version: readVersion(),
    nodeVersion: process.versions.node,
    roles,
    startedAt: clock() - Math.round(process.uptime() * SECOND_MS),
    memoryBytes: process.memoryUsage.rss(),
    store: { ...store, schema: Object.keys(MIGRATIONS).at(-1) ?? '' },
    log: { kind: logKindOf(config), bytes: logBytesOf(config), lagEntries: lag.entries, lagSeconds: lag.seconds },
    problems,
  }
}

function logKindOf({ natsUrl, databaseUrl }: Config): SystemState['log']['kind'] {
  if (natsUrl !== undefined) return 'jetstream'
  return databaseUrl === undefined ? 'sqlite' : 'postgres'
}

function logBytesOf(config: Config): number | null {
  if (!isEmbedded(config)) return null
  const sizes = sqliteFilePaths(logPathOf(config)).map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0)
  return sizes.reduce((sum, size) => sum + size)
}
