// Adds any number of codes to a coupon list, all of them or none. Writes them in small transactions, so that other writers get
// their turn; the codes stay invisible until the last transaction counts and shows all of them. Holds no more than one buffer in
// memory.
import type { ChangeContext } from '../core/accounts/audit.ts'
import { AppError, invalidRequest } from '../core/app-error.ts'
import { calendarDate, couponListStatus } from '../core/coupons/coupon-list.ts'
import { mergeSorted } from '../core/merge-sorted.ts'
import type { Workspace } from '../core/workspace.ts'
import { recordChange } from './audit/record-change.ts'
import { cleanUpload } from './clean-coupon-uploads.ts'
import { answerOnce, findRepeated, type FirstAnswer, type RepeatableRequest } from './answer-once.ts'
import { countAddedCoupons, lockCouponLists, type StoredCouponList } from '../store/coupons/coupon-lists.ts'
import {
  closeUpload,
  findOpenUpload,
  giveUpUpload,
  isRunning,
  keepUploadAlive,
  listOpenUploads,
  openUpload,
  type OpenUpload,
} from '../store/coupons/coupon-uploads.ts'
import { recordCompletedUpload } from '../store/coupons/completed-uploads.ts'
import { COUPONS_PER_UPLOAD_MAX, reserveCouponIds } from '../store/coupons/coupons.ts'
import type { Database, Store } from '../store/store.ts'
import { tellOfBrokenUpload, tellOfUpload } from './coupons/tell-upload.ts'
import { requireCouponList } from './require-coupon-list.ts'
import { NOTHING_WRITTEN, sumOf, writeCodes, type WrittenCodes } from './written-codes.ts'

/** Codes per transaction. With a million codes a transaction takes 11 ms, at most 60 ms; larger ones save little. */
const CODES_PER_CHUNK_MAX = 2_500
/**
 * Codes that are buffered and then written in sorted order, because neighbours share pages of the index: a million random codes
 * take 8 s instead of 31 s.
 */
export const CODES_BUFFERED_MAX = 50_000
const CHARACTERS_BUFFERED_MAX = 2_000_000
/** Uploads that run at the same time, in all processes together: they share the disk. */
const UPLOADS_RUNNING_MAX = 8
/** Must be far below `UPLOAD_ABANDONED_MS`. */
const HEARTBEAT_EVERY_MS = 10_000
/** How long a request waits while the codes of a broken upload are removed. */
const CLEANING_WAIT_MS = 10_000
const RETRY_AFTER_SECONDS = 10

export interface UploadTools {
  readonly database: Database
  /** Milliseconds since the epoch. */
  readonly clock: () => number
}

export interface UploadTarget {
  readonly workspace: Workspace
  readonly listId: string
  readonly by: ChangeContext
}

/** Codes as they arrive, with what is known once all have arrived. */
export interface CouponSource {
  readonly codes: AsyncIterable<readonly string[]>
  /** The header of the file; null if there is none. */
  readonly header: () => string | null
  readonly request: RepeatableRequest
  /** Who sends them (`toActorName`). */
  readonly by: string
}

export interface AddedCoupons {
  /** Identifies the upload, to undo it; null if it added no code. */
  readonly upload: string | null
  readonly added: number
  /** Codes that the list already had, or that were sent twice. */
  readonly duplicates: number
  /** Added codes that differ from another code of the list only in case. */
  readonly similar: { readonly count: number; readonly pairs: readonly (readonly [added: string, other: string])[] }
  readonly header: string | null
}

/**
 * Adds the codes, which must be valid, once for each Idempotency-Key. Throws AppError: `not_found` or `conflict` for the list,
 * `conflict` if another request used the key, `unavailable` if too many uploads run, and the errors of `codes`. After an error, no
 * code is added.
 */
export async function uploadCoupons(
  target: UploadTarget,
  source: CouponSource,
  tools: UploadTools,
): Promise<FirstAnswer<AddedCoupons>> {
  const repeated = await findRepeated<AddedCoupons>(tools.database, source.request)
  if (repeated) {
    // Only the whole body shows whether it is the same request.
    for await (const some of source.codes) void some
    return repeated.answerTo(source.request.hash())
  }
  const upload = new CouponUpload(target, source, tools)
  await upload.check()
  try {
    for await (const some of source.codes) await upload.add(some)
    return await upload.finish()
  } catch (error) {
    // If this fails too, the upload is abandoned after a minute, and its codes are removed before the next upload.
    await upload.takeBack(error).catch(() => {})
    throw error
  }
}

class CouponUpload {
  readonly #target: UploadTarget
  readonly #source: Omit<CouponSource, 'codes'>
  readonly #tools: UploadTools
  #sortedChunks: string[][] = []
  #currentChunk: string[] = []
  #characters = 0
  /** Undefined while the codes fit into one transaction. */
  #open: OpenUpload | undefined
  #heartbeatAt = 0
  #written: WrittenCodes = NOTHING_WRITTEN

  constructor(target: UploadTarget, source: CouponSource, tools: UploadTools) {
    this.#target = target
    this.#source = source
    this.#tools = tools
  }

  /** Refuses early: reading all codes may take minutes. */
  async check(): Promise<void> {
    await this.#requireFreeList(this.#tools.database)
  }

  async add(codes: readonly string[]): Promise<void> {
    for (const code of codes) {
      this.#currentChunk.push(code)
      this.#characters += code.length
      if (this.#currentChunk.length >= CODES_PER_CHUNK_MAX) this.#sortCurrentChunk()
      const buffered = this.#sortedChunks.length * CODES_PER_CHUNK_MAX
      if (buffered >= CODES_BUFFERED_MAX || this.#characters >= CHARACTERS_BUFFERED_MAX) await this.#writeBuffered()
    }
    await this.#sendHeartbeat()
  }

  async finish(): Promise<FirstAnswer<AddedCoupons>> {
    if (!this.#open && this.#sortedChunks.length === 0) return this.#addAtOnce(this.#currentChunk)
    await this.#writeBuffered()
    return this.#complete()
  }

  /** Removes what was written, and alerts the subscribers of the list. */
  async takeBack(error: unknown): Promise<void> {
    const { database, clock } = this.#tools
    const open = this.#open
    const { workspace, listId } = this.#target
    await database.write(async (store) => {
      if (open) await giveUpUpload(store, open.firstCouponId)
      const list = await requireCouponList(store, workspace, listId)
      await tellOfUpload(store, list, { kind: 'upload_failed', problem: problemOf(error) }, clock())
    })
    if (open) await cleanUpload(database, open.firstCouponId, CLEANING_WAIT_MS)
  }

  /** A few codes fit into one transaction, without an open upload. */
  async #addAtOnce(codes: readonly string[]): Promise<FirstAnswer<AddedCoupons>> {
    if (codes.length === 0) throw invalidRequest([{ field: 'body', problem: 'must contain at least one code' }])
    return this.#withFreeList((store, list) =>
      answerOnce(store, this.#source.request, async () => {
        const firstId = await reserveCouponIds(store, codes.length)
        const written = await writeCodes(store, { listNumber: list.number, firstId, codes })
        return this.#count(store, { list, firstId, written })
      }),
    )
  }

  #sortCurrentChunk(): void {
    this.#sortedChunks.push(this.#currentChunk.toSorted())
    this.#currentChunk = []
  }

  async #writeBuffered(): Promise<void> {
    this.#sortCurrentChunk()
    this.#open ??= await this.#begin()
    let chunk: string[] = []
    for (const code of mergeSorted(this.#sortedChunks)) {
      if (chunk.push(code) < CODES_PER_CHUNK_MAX) continue
      await this.#writeChunk(this.#open, chunk)
      chunk = []
    }
    if (chunk.length > 0) await this.#writeChunk(this.#open, chunk)
    this.#sortedChunks = []
    this.#characters = 0
  }

  #begin(): Promise<OpenUpload> {
    return this.#withFreeList(async (store, list) => {
      const now = this.#tools.clock()
      const running = (await listOpenUploads(store)).filter((upload) => isRunning(upload, now))
      if (running.length >= UPLOADS_RUNNING_MAX) throw tooManyRun()
      const firstCouponId = await reserveCouponIds(store, COUPONS_PER_UPLOAD_MAX)
      const upload = { listNumber: list.number, firstCouponId, heartbeatAt: now }
      await openUpload(store, upload)
      return upload
    })
  }

  async #writeChunk({ listNumber, firstCouponId }: OpenUpload, codes: readonly string[]): Promise<void> {
    const { database, clock } = this.#tools
    await database.yieldToWriters()
    const now = clock()
    const firstId = firstCouponId + this.#written.codes
    const chunk = await database.write(async (store) => {
      if (!(await keepUploadAlive(store, firstCouponId, now))) throw abandoned()
      return writeCodes(store, { listNumber, firstId, codes })
    })
    this.#heartbeatAt = now
    this.#written = sumOf(this.#written, chunk)
  }

  /** A client may send so slowly that there is nothing to write for a long time. Also due after the clock was set back. */
  async #sendHeartbeat(): Promise<void> {
    const { database, clock } = this.#tools
    const open = this.#open
    const now = clock()
    if (!open || Math.abs(now - this.#heartbeatAt) < HEARTBEAT_EVERY_MS) return
    if (!(await database.write((store) => keepUploadAlive(store, open.firstCouponId, now)))) throw abandoned()
    this.#heartbeatAt = now
  }

  async #complete(): Promise<FirstAnswer<AddedCoupons>> {
    const { database, clock } = this.#tools
    const { firstCouponId } = this.#open as OpenUpload
    return database.write(async (store) => {
      await lockCouponLists(store)
      return answerOnce(store, this.#source.request, async () => {
        const list = await this.#requireActiveList(store)
        if (!(await keepUploadAlive(store, firstCouponId, clock()))) throw abandoned()
        await closeUpload(store, firstCouponId)
        return this.#count(store, { list, firstId: firstCouponId, written: this.#written })
      })
    })
  }

  /** Makes the written codes count. The caller holds the lock of the lists. */
  async #count(
    store: Store,
    {
      list,
      firstId,
      written,
    }: { readonly list: StoredCouponList; readonly firstId: number; readonly written: WrittenCodes },
  ): Promise<AddedCoupons> {
    const { codes, added, similar } = written
    const [now, lastCouponId, listNumber] = [this.#tools.clock(), firstId + codes - 1, list.number]
    const duplicates = codes - added
    await tellOfUpload(store, list, { kind: 'upload_succeeded', added, duplicates }, now)
    if (added > 0) {
      await countAddedCoupons(store, listNumber, { count: added, lastCouponId, now })
      const ids = { firstCouponId: firstId, lastCouponId }
      await recordCompletedUpload(store, {
        listNumber,
        ...ids,
        addedAt: now,
        codes: added,
        uploadedBy: this.#source.by,
      })
      await this.#record(store, list, { upload: String(firstId), added, now })
    }
    return {
      upload: added > 0 ? String(firstId) : null,
      added,
      duplicates,
      similar: { count: similar.count, pairs: similar.named.map(({ code, similar: other }) => [code, other]) },
      header: this.#source.header(),
    }
  }

  async #record(
    store: Store,
    { id, name, totalCoupons }: StoredCouponList,
    { upload, added, now }: { readonly upload: string; readonly added: number; readonly now: number },
  ): Promise<void> {
    // An upload may take minutes.
    const by = { ...this.#target.by, now }
    const [before, after] = [{ total_coupons: totalCoupons }, { total_coupons: totalCoupons + added, upload }]
    await recordChange(store, by, { kind: 'coupon_list', id, name, action: 'add_coupons', before, after })
  }

  /** Runs `change` in a transaction with the list locked, ACTIVE and without an upload. Removes a broken upload first. */
  async #withFreeList<Result>(change: (store: Store, list: StoredCouponList) => Promise<Result>): Promise<Result> {
    const { database } = this.#tools
    for (;;) {
      const outcome = await database.write(async (store): Promise<{ broken: OpenUpload } | { result: Result }> => {
        await lockCouponLists(store)
        const { list, broken } = await this.#requireFreeList(store)
        if (broken) {
          await giveUpUpload(store, broken.firstCouponId)
          await tellOfBrokenUpload(store, broken, this.#tools.clock())
        }
        return broken ? { broken } : { result: await change(store, list) }
      })
      if ('result' in outcome) return outcome.result
      await cleanUpload(database, outcome.broken.firstCouponId, CLEANING_WAIT_MS)
    }
  }

  /** `broken`: an upload that will not be completed. */
  async #requireFreeList(store: Store): Promise<{ list: StoredCouponList; broken: OpenUpload | undefined }> {
    const list = await this.#requireActiveList(store)
    const broken = await findOpenUpload(store, list.number)
    if (broken && isRunning(broken, this.#tools.clock())) throw uploadInProgress()
    return { list, broken }
  }

  async #requireActiveList(store: Store): Promise<StoredCouponList> {
    const { workspace, listId } = this.#target
    const list = await requireCouponList(store, workspace, listId)
    const status = couponListStatus(list, calendarDate(workspace.timezone, this.#tools.clock()))
    if (status === 'ACTIVE') return list
    throw new AppError('conflict', `Coupons can be added only to an ACTIVE list; this list is ${status}.`)
  }
}

/** Every fault, as the response names them. */
function problemOf(error: unknown): string {
  if (!(error instanceof AppError)) return 'The upload ended before all codes had come.'
  return [error.message, ...error.details.map(({ field, problem }) => `${field}: ${problem}`)].join('\n')
}

export function uploadInProgress(): AppError {
  const message = `Another upload to this list is in progress. Retry after ${RETRY_AFTER_SECONDS} seconds.`
  return new AppError('conflict', message, [], RETRY_AFTER_SECONDS)
}

function abandoned(): AppError {
  const reason = 'it stalled, or another server was started on the same data'
  return new AppError('conflict', `The upload was abandoned: ${reason}. No codes were added. Send it again.`)
}

function tooManyRun(): AppError {
  const message = `The server has ${UPLOADS_RUNNING_MAX} uploads in progress. Retry after ${RETRY_AFTER_SECONDS} seconds.`
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
