// Checks the machine, the store and the log before a role works with them.
import type { FastifyBaseLogger } from 'fastify'
import { isRightKey } from '../../actions/email-protection.ts'
import { counted } from '../../core/phrases/counted.ts'
import { describeLogLocation } from '../../log/describe-log-location.ts'
import type { LogReader } from '../../log/event-log.ts'
import { isEmbedded, logPathOf, openLogReader } from '../../log/open-log.ts'
import { describeError } from '../../store/describe-error.ts'
import { listPipelineCursors } from '../../store/entries/cursors.ts'
import { migrate } from '../../store/migrations.ts'
import { refuseUnfinishedMove } from '../../store/moves/moves.ts'
import { openDatabase, statePathOf } from '../../store/open-database.ts'
import { markStoreFiles } from '../../store/sqlite/file-identity.ts'
import type { Database } from '../../store/store.ts'
import { EmailVault } from '../../store/users/email-vault.ts'
import { listWorkspaces } from '../../store/workspaces/workspaces.ts'
import { closeAll, type Closers } from '../closers.ts'
import { ConfigError, type Config } from '../config.ts'
import { prepareStoreFolder } from '../data-dir.ts'
import { findMachineFaults } from '../machine-faults.ts'
import { refuseForeignLog } from './refuse-foreign-log.ts'

export interface StartOptions {
  readonly config: Config
  readonly diagnostics: FastifyBaseLogger
}

/**
 * Names all faults of address and folder at once, and creates the folder only if there are none: if a server of an older version
 * runs here, this start must not migrate that server's tables.
 */
export async function prepareMachine(config: Config, checks: { readonly listens: boolean }): Promise<void> {
  const faults = await findMachineFaults(config, checks)
  if (faults.length > 0) throw new ConfigError(faults)
  // A server without an embedded store needs no folder.
  if (isEmbedded(config)) prepareStoreFolder(config.dataDir)
}

/**
 * Checks the database before the log is opened: a program older than its database must not change the log's tables.
 */
export async function checkSharedDatabase(options: StartOptions): Promise<void> {
  const database = openDatabase(options.config)
  try {
    await checkDatabase(database, options)
  } finally {
    await database.close()
  }
}

/** Migrates the tables. Throws if a move into them is incomplete, or if PII_KEY is not theirs. */
export async function checkDatabase(database: Database, { config, diagnostics }: StartOptions): Promise<void> {
  await migrate(database, Date.now(), (what) => diagnostics.warn(what))
  await refuseUnfinishedMove(database)
  await refuseWrongKey(database, config)
}

/**
 * Without PII_KEY, or with another one, no user of a workspace with encrypted emails could be found by address ("Encrypted
 * emails"). With another key, new addresses would also be encrypted differently from stored ones, for ever.
 */
async function refuseWrongKey(database: Database, { piiKey }: Config): Promise<void> {
  const vault = piiKey && new EmailVault(piiKey)
  const closed: string[] = []
  for (const { workspace } of await listWorkspaces(database)) {
    if (workspace.emailProtection !== 'encrypted') continue
    if (!vault || !(await isRightKey(database, workspace, vault))) closed.push(workspace.id)
  }
  if (closed.length === 0) return
  const what = vault ? 'is not the key that encrypted the emails in' : 'must be set, because emails are encrypted in'
  throw new ConfigError([{ field: 'PII_KEY', problem: `${what} ${closed.join(', ')}` }])
}

export async function checkLog(database: Database, logReader: LogReader, options: StartOptions): Promise<void> {
  const { config } = options
  await refuseForeignLog(database, logReader, config)
  if (!isEmbedded(config)) return
  markStoreFiles(statePathOf(config), logPathOf(config))
  await warnOfGap(database, logReader, options)
}

/**
 * Entries are trimmed only after they are applied, so tables that lack trimmed entries are older than their log. Positions of the
 * embedded log have no gaps.
 */
async function warnOfGap(
  database: Database,
  logReader: LogReader,
  { config, diagnostics }: StartOptions,
): Promise<void> {
  const [cursor = 0] = await listPipelineCursors(database, logReader.partitions)
  const first = await logReader.firstAfter([cursor])
  const missing = (first?.position ?? (await logReader.lastPosition()) + 1) - 1 - cursor
  if (missing === 0) return
  const entries = counted(missing, 'applied entry is', 'applied entries are')
  const what = `${entries} missing from these tables and no longer in the log`
  diagnostics.warn(`${what} in ${describeLogLocation(config)}: the tables are older than the log`)
}

/** Warns if NATS could lose acknowledged entries in a power failure. If that cannot be determined, the start continues. */
export async function warnOfLosses({ config: { natsUrl }, diagnostics }: StartOptions): Promise<void> {
  if (natsUrl === undefined) return
  try {
    const { findDurabilityWarning } = await import('../../log/jetstream/jetstream-durability.ts')
    const warning = await findDurabilityWarning({ url: natsUrl })
    if (warning !== undefined) diagnostics.warn(warning)
  } catch (error) {
    diagnostics.warn({ err: describeError(error) }, 'cannot determine whether the log survives a power failure')
  }
}

/**
 * Checks store and log before a pipeline follows them. The pipeline's thread opens connections of its own, so this closes its own.
 */
export async function checkStoreAndLog(options: StartOptions): Promise<void> {
  const { config } = options
  const opened: Closers = []
  try {
    const database = openDatabase(config)
    opened.push(() => database.close())
    await checkDatabase(database, options)
    const logReader = await openLogReader(config)
    opened.push(() => logReader.close())
    await checkLog(database, logReader, options)
  } finally {
    await closeAll(opened)
  }
}
