// Imports people from a stream of rows. Appends some hundred rows at a time to the log as one entry, and records a checkpoint from
// which the same file can be sent on. Nothing but the log and the checkpoint holds rows, so any process can continue.
import { createHash } from 'node:crypto'
import { v7 as newId } from 'uuid'
import { AppError, invalidRequest } from '../../core/app-error.ts'
import { effectiveAttributes } from '../../core/users/user-attributes.ts'
import { toPersonRow, type ImportedRow, type PersonRow } from '../../core/users/person-row.ts'
import type { Workspace } from '../../core/workspace.ts'
import { IDEMPOTENCY_KEPT_MS, type LogWriter } from '../../log/event-log.ts'
import type { Database } from '../../store/store.ts'
import { isUniqueViolation } from '../../store/store.ts'
import type { EmailVault } from '../../store/users/email-vault.ts'
import {
  addImport,
  findImport,
  findImportByKey,
  isBeingSent,
  releaseImport,
  saveCheckpoint,
  takeImportOver,
  type ImportCheckpoint,
  type Refusal,
  type StoredImport,
} from '../../store/users/imports.ts'
import { protectEmail } from '../email-protection.ts'
import type { SentRow } from './read-rows.ts'

/** A chunk ends after this many rows of the file, or with the row that makes it this long as JSON. */
const ROWS_PER_CHUNK_MAX = 500
const CHUNK_LENGTH_MAX = 128 * 1024
/** How often a checkpoint is saved; a client that sends slowly causes one after some time. */
const CHUNKS_PER_CHECKPOINT = 10
const CHECKPOINT_EVERY_MS = 10_000
/** The refusals that are kept. All are counted. */
export const REFUSALS_KEPT_MAX = 1_000
/** An import can be sent on while the log surely knows the chunks that it has. */
export const SENT_ON_WITHIN_MS = IDEMPOTENCY_KEPT_MS - 60 * 60 * 1000
const RETRY_AFTER_SECONDS = 10

export interface ImportTools {
  readonly database: Database
  readonly log: LogWriter
  readonly emailVault: EmailVault | undefined
  /** Resolves when everything before the call is applied. Rejects with AppError `unavailable` if that takes long. */
  readonly appliedEntries: { readonly wait: () => Promise<void> }
  readonly clock: () => number
  readonly receiptClock: () => number
}

export interface ImportSource {
  readonly workspace: Workspace
  /** The client's Idempotency-Key. */
  readonly key: string | undefined
  readonly requestId: string
  readonly callerAddress: string
}

/**
 * Imports all rows; resolves when they are durable in the log. With the key of an unfinished import, continues it: rows up to its
 * checkpoint are read and compared, and not appended again. Throws AppError: `invalid_request` if there are no rows, `conflict` if the
 * key belongs to another file or the import is being sent, and the errors of `rows` with the number of rows before them.
 */
export async function importRows(
  source: ImportSource,
  rows: AsyncIterable<SentRow>,
  tools: ImportTools,
): Promise<StoredImport> {
  const run = new ImportRun(source, tools)
  try {
    for await (const row of rows) await run.add(row)
    return await run.finish()
  } catch (error) {
    throw await run.fail(error)
  }
}

interface PreparedRow {
  /** What tells this row from another one. Holds no address that must not be stored. */
  readonly hashed: string
  /** The row in the log; undefined if it is refused. */
  readonly stored: string | undefined
  readonly problem?: string
}

class ImportRun {
  readonly #source: ImportSource
  readonly #tools: ImportTools
  readonly #hash = createHash('sha256')
  #import: StoredImport | undefined
  /** The rows of the current chunk that are accepted, all its rows, and their length. */
  #stored: string[] = []
  #rowsInChunk = 0
  #length = 0
  /** Up to the last whole chunk. */
  #progress: ImportCheckpoint = { chunks: 0, hash: '', rows: 0, refused: 0, refusals: [] }
  /** Of the current chunk. */
  #refused: Refusal[] = []
  #checkpointAt = 0
  #savedChunks = 0
  /** Resolves when the chunks up to an earlier checkpoint are applied: the log of other requests must not grow behind an import. */
  #applied: Promise<void> = Promise.resolve()

  constructor(source: ImportSource, tools: ImportTools) {
    this.#source = source
    this.#tools = tools
  }

  async add(row: SentRow): Promise<void> {
    this.#import ??= await this.#begin()
    const { hashed, stored, problem } = prepare(row, this.#source.workspace, this.#tools.emailVault)
    this.#hash.update(hashed).update('\n')
    this.#rowsInChunk++
    this.#length += hashed.length
    if (stored !== undefined) this.#stored.push(stored)
    if (problem !== undefined) this.#refused.push({ line: row.line, problem })
    if (this.#rowsInChunk >= ROWS_PER_CHUNK_MAX || this.#length >= CHUNK_LENGTH_MAX) await this.#endChunk()
  }

  async finish(): Promise<StoredImport> {
    const found = this.#import
    if (!found) throw invalidRequest([{ field: 'body', problem: 'must contain at least one row' }])
    if (this.#rowsInChunk > 0) await this.#endChunk()
    if (this.#progress.chunks < found.chunks) throw differs()
    if (!found.isReceived) await this.#saveCheckpoint(found, true)
    return (await findImport(this.#tools.database, found.workspaceId, found.id)) as StoredImport
  }

  /** Ends the run, and returns the error to throw. */
  async fail(reason: unknown): Promise<unknown> {
    const found = this.#import
    if (!found) return reason
    const { database } = this.#tools
    // If this fails too, another request can send the file on a minute later.
    await this.#saveCheckpoint(found, false).catch(() => {})
    await database.write((store) => releaseImport(store, found.id, this.#source.requestId)).catch(() => {})
    if (!(reason instanceof AppError) || reason.code !== 'invalid_request') return reason
    const { rows, refused } = this.#progress
    const taken = `${rows - refused} of the ${rows} rows before it were imported (import ${found.id}).`
    const how = 'Correct the file and send all of it again, with the same Idempotency-Key if you sent one.'
    return new AppError(reason.code, `${reason.message} ${taken} ${how}`, reason.details)
  }

  async #begin(): Promise<StoredImport> {
    const { database, clock } = this.#tools
    const { workspace, key, requestId: sender } = this.#source
    const now = clock()
    this.#checkpointAt = now
    const existing = key === undefined ? undefined : await findImportByKey(database, workspace.id, key)
    if (existing?.isReceived) return existing
    if (existing) {
      if (isBeingSent(existing, now)) throw isBeingSentAlready()
      if (now - existing.createdAt > SENT_ON_WITHIN_MS) throw tooOld()
      if (!(await database.write((store) => takeImportOver(store, existing, { sender, now }))))
        throw isBeingSentAlready()
      return existing
    }
    const fresh = { id: newId(), workspaceId: workspace.id, key: key ?? null, sender, now }
    try {
      await database.write((store) => addImport(store, fresh, this.#progress))
    } catch (error) {
      throw isUniqueViolation(error) ? isBeingSentAlready() : error
    }
    return (await findImport(database, workspace.id, fresh.id)) as StoredImport
  }

  async #endChunk(): Promise<void> {
    const found = this.#import as StoredImport
    const { chunks, rows, refused, refusals } = this.#progress
    const room = REFUSALS_KEPT_MAX - refusals.length
    const next: ImportCheckpoint = {
      chunks: chunks + 1,
      hash: this.#hash.copy().digest('base64url'),
      rows: rows + this.#rowsInChunk,
      refused: refused + this.#refused.length,
      refusals: room > 0 ? [...refusals, ...this.#refused.slice(0, room)] : refusals,
    }
    const isKnown = next.chunks <= found.chunks
    if (next.chunks === found.chunks && next.hash !== found.hash) throw differs()
    if (!isKnown && found.isReceived) throw differs()
    if (!isKnown && this.#stored.length > 0) await this.#append(found, next)
    this.#progress = next
    this.#stored = []
    this.#refused = []
    this.#rowsInChunk = 0
    this.#length = 0
    if (!isKnown) await this.#saveCheckpointIfDue(found)
  }

  async #append({ id }: StoredImport, { chunks, hash }: ImportCheckpoint): Promise<void> {
    const { workspace, callerAddress } = this.#source
    const { outcome } = await this.#tools.log.append({
      kind: 'svc_import',
      workspaceId: workspace.id,
      requestId: newId(),
      receivedAt: this.#tools.receiptClock(),
      context: { importId: id, ip: callerAddress },
      body: Buffer.from(`{"rows":[${this.#stored.join(',')}]}`),
      events: 0,
      // Of several rows of one user the last decides, so all chunks go to one partition.
      partitionKey: id,
      // If this chunk was appended after the last checkpoint, the log knows it.
      idempotency: { key: `import ${id} ${chunks}`, hash: `${hash} ${this.#stored.length}` },
    })
    if (outcome === 'key_conflict') throw differs()
  }

  async #saveCheckpointIfDue(found: StoredImport): Promise<void> {
    const isEnough = this.#progress.chunks - this.#savedChunks >= CHUNKS_PER_CHECKPOINT
    const isLate = Math.abs(this.#tools.clock() - this.#checkpointAt) >= CHECKPOINT_EVERY_MS
    if (!isEnough && !isLate) return
    await this.#saveCheckpoint(found, false)
    await this.#applied
    // A pipeline that stands still slows imports down, and does not end them.
    this.#applied = this.#tools.appliedEntries.wait().catch(() => {})
  }

  async #saveCheckpoint({ id }: StoredImport, isReceived: boolean): Promise<void> {
    const { database, clock } = this.#tools
    if (this.#progress.chunks < (this.#import?.chunks ?? 0)) return
    const now = clock()
    const { requestId: sender } = this.#source
    await database.yieldToWriters()
    const isSender = await database.write((store) => {
      return saveCheckpoint(store, { id, sender, now, isReceived }, this.#progress)
    })
    if (!isSender) throw isBeingSentAlready()
    this.#checkpointAt = now
    this.#savedChunks = this.#progress.chunks
  }
}

function prepare(
  { line, json, value, problem: unreadable }: SentRow,
  workspace: Workspace,
  vault: EmailVault | undefined,
): PreparedRow {
  const row = unreadable ?? toPersonRow(value, workspace)
  const isProtected = workspace.emailProtection !== 'none'
  // A refused row may hold an address, too.
  if (typeof row === 'string') return { hashed: isProtected ? `${line}` : json, stored: undefined, problem: row }
  if (!isProtected) return { hashed: json, stored: json }
  return protect(row, workspace, vault)
}

/** Holds only the members that the pipeline reads, so that no other member can carry an address into the log. */
function protect(row: PersonRow, workspace: Workspace, vault: EmailVault | undefined): PreparedRow {
  const { customer_id, user_identifiers, opt_in_status, categories } = row
  const sent = effectiveAttributes(row.attributes ?? {})
  const { attributes, sealedEmail } = protectEmail(workspace, sent, vault)
  const plain: PersonRow = { customer_id, user_identifiers, attributes, opt_in_status, categories }
  const stored: ImportedRow = sealedEmail ? { ...plain, sealed_email: sealedEmail } : plain
  // Each time an address is sealed, the result differs.
  return { hashed: JSON.stringify([plain, sealedEmail?.key]), stored: JSON.stringify(stored) }
}

function differs(): AppError {
  const details = [{ field: 'header.Idempotency-Key', problem: 'was already used for a different file' }]
  const what =
    'The Idempotency-Key was already used for a different file, or the settings of the workspace changed since.'
  return new AppError('conflict', `${what} Send a new key.`, details)
}

function isBeingSentAlready(): AppError {
  const message = `This import is being sent by another request. Retry after ${RETRY_AFTER_SECONDS} seconds.`
  return new AppError('conflict', message, [], RETRY_AFTER_SECONDS)
}

function tooOld(): AppError {
  return new AppError('conflict', 'The import with this Idempotency-Key was begun too long ago. Send a new key.')
}
