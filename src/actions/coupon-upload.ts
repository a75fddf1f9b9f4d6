// Adds codes to a coupon list, all of them or none, however many: in chunks that are small enough to let others write
// between them, invisible until the last transaction, which counts and shows them all. No more than a buffer is in memory.
import { AppError, invalidRequest } from '../core/app-error.ts'
import { calendarDate, couponListStatus } from '../core/coupons/coupon-list.ts'
import { mergeSorted } from '../core/merge-sorted.ts'
import type { Workspace } from '../core/workspace.ts'
import { cleanUpload } from './clean-coupon-uploads.ts'
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
import { addCodes, COUPONS_PER_UPLOAD_MAX, reserveCouponIds } from '../store/coupons/coupons.ts'
import type { Database, Store } from '../store/store.ts'
import { requireCouponList } from './require-coupon-list.ts'

/** Codes written in one transaction. Measured with a million codes: 11 ms each, 60 ms at most, while larger ones save little. */
const CODES_PER_CHUNK_MAX = 2_500
/**
 * How many codes are gathered and then written in their order, because neighbours lie on the same pages of the index: measured, a
 * million random codes in 8 s instead of 31 s.
 */
export const CODES_GATHERED_MAX = 50_000
const CHARACTERS_GATHERED_MAX = 2_000_000
/** Uploads that run at the same time, in whatever process: each holds what it has gathered, and all share the disk. */
const UPLOADS_RUNNING_MAX = 8
/** Far below `UPLOAD_ABANDONED_MS`. */
const SIGN_OF_LIFE_EVERY_MS = 10_000
/** How long a request waits until what a broken upload left behind is taken back. */
const CLEANING_WAIT_MS = 10_000
const RETRY_AFTER_SECONDS = 10

/** What an upload works with. */
export interface UploadTools {
  readonly database: Database
  /** Milliseconds since the epoch. */
  readonly clock: () => number
}

export interface UploadTarget {
  readonly workspace: Workspace
  readonly listId: string
}

export interface AddedCoupons {
  readonly added: number
  /** Codes that the list had already, or that came twice. */
  readonly duplicates: number
}

/**
 * Adds the codes, which must be valid, when the last of them has come. Throws AppError `not_found` and `conflict` for the
 * list, `unavailable` when too much is uploaded elsewhere, and whatever `codes` throws; nothing is added then.
 */
export async function uploadCoupons(
  target: UploadTarget,
  codes: AsyncIterable<readonly string[]>,
  tools: UploadTools,
): Promise<AddedCoupons> {
  const upload = new CouponUpload(target, tools)
  await upload.check()
  try {
    for await (const some of codes) await upload.add(some)
    return await upload.finish()
  } catch (error) {
    // Should this fail too, the upload is abandoned in a minute, and taken back before the next one begins.
    await upload.takeBack().catch(() => {})
    throw error
  }
}

class CouponUpload {
  readonly #target: UploadTarget
  readonly #tools: UploadTools
  #gathered: string[][] = []
  #last: string[] = []
  #characters = 0
  /** Undefined until more has come than one transaction takes. */
  #open: OpenUpload | undefined
  #heardAt = 0
  #written = 0
  #added = 0

  constructor(target: UploadTarget, tools: UploadTools) {
    this.#target = target
    this.#tools = tools
  }

  /** Refuses early what would be refused in the end. */
  async check(): Promise<void> {
    await this.#requireFreeList(this.#tools.database)
  }

  async add(codes: readonly string[]): Promise<void> {
    for (const code of codes) {
      this.#last.push(code)
      this.#characters += code.length
      if (this.#last.length >= CODES_PER_CHUNK_MAX) this.#sortLast()
      const gathered = this.#gathered.length * CODES_PER_CHUNK_MAX
      if (gathered >= CODES_GATHERED_MAX || this.#characters >= CHARACTERS_GATHERED_MAX) await this.#writeGathered()
    }
    await this.#giveSignOfLife()
  }

  async finish(): Promise<AddedCoupons> {
    if (!this.#open && this.#gathered.length === 0) return this.#addAtOnce(this.#last)
    await this.#writeGathered()
    return this.#complete()
  }

  async takeBack(): Promise<void> {
    const { database } = this.#tools
    if (!this.#open) return
    const { firstCouponId } = this.#open
    await database.write((store) => giveUpUpload(store, firstCouponId))
    await cleanUpload(database, firstCouponId, CLEANING_WAIT_MS)
  }

  /** A few codes need no upload that others could see. */
  async #addAtOnce(codes: readonly string[]): Promise<AddedCoupons> {
    if (codes.length === 0) throw invalidRequest([{ field: 'body', problem: 'must contain at least one code' }])
    return this.#withFreeList(async (store, list) => {
      const firstId = await reserveCouponIds(store, codes.length)
      const added = await addCodes(store, list.number, firstId, codes)
      await this.#count(store, list.number, added, firstId + codes.length - 1)
      return { added, duplicates: codes.length - added }
    })
  }

  #sortLast(): void {
    this.#gathered.push(this.#last.toSorted())
    this.#last = []
  }

  async #writeGathered(): Promise<void> {
    this.#sortLast()
    this.#open ??= await this.#begin()
    let chunk: string[] = []
    for (const code of mergeSorted(this.#gathered)) {
      if (chunk.push(code) < CODES_PER_CHUNK_MAX) continue
      await this.#writeChunk(this.#open, chunk)
      chunk = []
    }
    if (chunk.length > 0) await this.#writeChunk(this.#open, chunk)
    this.#gathered = []
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
    const firstId = firstCouponId + this.#written
    const added = await database.write(async (store) => {
      if (!(await keepUploadAlive(store, firstCouponId, now))) throw abandoned()
      return addCodes(store, listNumber, firstId, codes)
    })
    this.#heardAt = now
    this.#written += codes.length
    this.#added += added
  }

  /**
   * A client may send so slowly that there is nothing to write for a long time. A sign of life is due after a clock was set back,
   * too.
   */
  async #giveSignOfLife(): Promise<void> {
    const { database, clock } = this.#tools
    const open = this.#open
    const now = clock()
    if (!open || Math.abs(now - this.#heardAt) < SIGN_OF_LIFE_EVERY_MS) return
    if (!(await database.write((store) => keepUploadAlive(store, open.firstCouponId, now)))) throw abandoned()
    this.#heardAt = now
  }

  async #complete(): Promise<AddedCoupons> {
    const { database, clock } = this.#tools
    const { firstCouponId } = this.#open as OpenUpload
    await database.write(async (store) => {
      await lockCouponLists(store)
      const list = await this.#requireActiveList(store)
      if (!(await keepUploadAlive(store, firstCouponId, clock()))) throw abandoned()
      await closeUpload(store, firstCouponId)
      await this.#count(store, list.number, this.#added, firstCouponId + this.#written - 1)
    })
    return { added: this.#added, duplicates: this.#written - this.#added }
  }

  async #count(store: Store, listNumber: number, count: number, lastCouponId: number): Promise<void> {
    if (count > 0) await countAddedCoupons(store, listNumber, { count, lastCouponId, now: this.#tools.clock() })
  }

  /** One transaction with the list locked, ACTIVE and free; what a broken upload left there is taken back first. */
  async #withFreeList<Result>(change: (store: Store, list: StoredCouponList) => Promise<Result>): Promise<Result> {
    const { database } = this.#tools
    for (;;) {
      const outcome = await database.write(async (store): Promise<{ left: OpenUpload } | { result: Result }> => {
        await lockCouponLists(store)
        const { list, left } = await this.#requireFreeList(store)
        if (left) await giveUpUpload(store, left.firstCouponId)
        return left ? { left } : { result: await change(store, list) }
      })
      if ('result' in outcome) return outcome.result
      await cleanUpload(database, outcome.left.firstCouponId, CLEANING_WAIT_MS)
    }
  }

  /** `left`: an upload that nobody will complete. */
  async #requireFreeList(store: Store): Promise<{ list: StoredCouponList; left: OpenUpload | undefined }> {
    const list = await this.#requireActiveList(store)
    const left = await findOpenUpload(store, list.number)
    if (left && isRunning(left, this.#tools.clock())) throw isBusy()
    return { list, left }
  }

  async #requireActiveList(store: Store): Promise<StoredCouponList> {
    const { workspace, listId } = this.#target
    const list = await requireCouponList(store, workspace, listId)
    const status = couponListStatus(list, calendarDate(workspace.timezone, this.#tools.clock()))
    if (status === 'ACTIVE') return list
    throw new AppError('conflict', `Coupons can be added only to an ACTIVE list; this list is ${status}.`)
  }
}

function isBusy(): AppError {
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
