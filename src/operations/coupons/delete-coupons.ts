// Delete coupons: removes codes that nobody has from a list, in small transactions. A request that was interrupted can be repeated.
import { Type } from 'typebox'
import { AppError, type Fault } from '../../core/app-error.ts'
import { toCouponCode } from '../../core/coupons/coupon-list.ts'
import { recordChange } from '../../actions/audit/record-change.ts'
import { deleteFreeCoupons, type KeptCode } from '../../actions/coupons/delete-free-coupons.ts'
import { uploadInProgress } from '../../actions/coupon-upload.ts'
import { requireCouponList } from '../../actions/require-coupon-list.ts'
import { findCompletedUpload } from '../../store/coupons/completed-uploads.ts'
import { lockCouponListRows, lockCouponLists, type StoredCouponList } from '../../store/coupons/coupon-lists.ts'
import { findOpenUpload, isRunning } from '../../store/coupons/coupon-uploads.ts'
import { findCodes, listCodesById, type StoredCode } from '../../store/coupons/coupons.ts'
import type { Store } from '../../store/store.ts'
import { CouponListPath } from './coupon-list-body.ts'
import { Content, NoFields, Strict, Text } from '../fields.ts'
import { defineOperation, type OperationRequest, type Parts } from '../operation.ts'

/** Codes per transaction, as in uploads. */
const CODES_PER_STEP_MAX = 2_500
/** The most codes that are named because they were not deleted. All are counted. */
const NOT_DELETED_NAMED_MAX = 100
/** With outer spaces. */
const CODE_LENGTH_MAX = 1_024
const UPLOAD_ID = /^\d{1,15}$/
const NOT_IN_LIST = 'is not in the list'

export const deleteCoupons = defineOperation({
  name: 'delete_coupons',
  summary: 'Delete coupons',
  description:
    'Deletes codes that no user has from a list with any status: those in `coupons`, or all codes that an `upload` ' +
    'added. Codes that a message holds, or that were issued, stay. Send one of the two. Codes that are not deleted are counted and named with the reason. Many codes are ' +
    'deleted in portions: if the request fails, some may be deleted, and you can repeat it. While an upload to the ' +
    'list is in progress, the request is rejected with 409.',
  group: 'Coupon lists',
  method: 'DELETE',
  url: '/v1/coupon-list/:coupon_list_id/coupons',
  requires: 'coupons.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CouponListPath,
  query: NoFields,
  body: Strict({
    // Also codes that could not be added any more.
    coupons: Type.Optional(Type.Array(Content(1, CODE_LENGTH_MAX), { minItems: 1 })),
    upload: Type.Optional(Text(1, 64, 'The `upload` in the answer of "Add coupons".')),
  }),
  example: { coupons: ['SUMMER-7Q2X', 'SUMMER-9KDF'] },
  faults: ({ body }) => choiceFaults(body),
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: Type.Object({
    deleted: Type.Integer({ description: 'Codes deleted from the list.' }),
    not_deleted: Type.Array(Type.Object({ code: Type.String(), problem: Type.String() }), {
      maxItems: NOT_DELETED_NAMED_MAX,
      description: 'Codes that were not deleted. Only the first hundred.',
    }),
    not_deleted_count: Type.Integer({ description: 'All codes that were not deleted.' }),
  }),
  // A request may take many transactions, so each workspace gets one at a time.
  handle(request, parts) {
    const { workspace, body } = request
    const { coupons, upload } = body
    const deletion = new Deletion(request, parts)
    const work = () => (upload === undefined ? deletion.ofCodes(coupons ?? []) : deletion.ofUpload(upload))
    return parts.queue.run(`deletions of coupons ${workspace.id}`, work, workspace.limits.management_per_minute)
  },
})

interface Deleted {
  readonly deleted: number
  readonly not_deleted: readonly { readonly code: string; readonly problem: string }[]
  readonly not_deleted_count: number
}

type Request = OperationRequest<{ readonly coupon_list_id: string }, object, { readonly upload?: string }>

class Deletion {
  readonly #request: Request
  readonly #parts: Parts

  constructor(request: Request, parts: Parts) {
    this.#request = request
    this.#parts = parts
  }

  async ofCodes(coupons: readonly string[]): Promise<Deleted> {
    const codes = [...new Set(coupons.map(toCouponCode))]
    const kept = new KeptCodes()
    for (let start = 0; start < codes.length; start += CODES_PER_STEP_MAX) {
      const portion = codes.slice(start, start + CODES_PER_STEP_MAX)
      const step = await this.#step((store, list) => findCodes(store, list, portion))
      kept.add(portion, step)
    }
    return { deleted: codes.length - kept.count, not_deleted: kept.named, not_deleted_count: kept.count }
  }

  async ofUpload(id: string): Promise<Deleted> {
    const kept = new KeptCodes()
    let read = 0
    for (let after = 0; ;) {
      const step = await this.#step(async (store, list) => {
        const { firstCouponId, lastCouponId: last } = await requireUpload(store, list, id)
        return listCodesById(store, { first: Math.max(firstCouponId, after + 1), last }, CODES_PER_STEP_MAX)
      })
      const codes = step.codes.map(({ code }) => code)
      kept.add(codes, step)
      read += codes.length
      if (codes.length < CODES_PER_STEP_MAX)
        return { deleted: read - kept.count, not_deleted: kept.named, not_deleted_count: kept.count }
      after = step.codes.at(-1)?.id ?? after
    }
  }

  /** A request that deletes many codes has an entry for each transaction. */
  async #record(store: Store, { id, name, totalCoupons }: StoredCouponList, deleted: number): Promise<void> {
    const before = { total_coupons: totalCoupons }
    const after = { total_coupons: totalCoupons - deleted, ...(deleted > 0 && { upload: this.#request.body.upload }) }
    await recordChange(store, this.#request, { kind: 'coupon_list', id, name, action: 'delete_coupons', before, after })
  }

  /** Runs one transaction: finds codes of the list, and deletes those that nobody has. */
  async #step(find: (store: Store, list: StoredCouponList) => Promise<StoredCode[]>): Promise<Step> {
    const { workspace, path } = this.#request
    const { database, clock } = this.#parts
    await database.yieldToWriters()
    return database.write(async (store) => {
      await lockCouponLists(store)
      const list = await requireCouponList(store, workspace, path.coupon_list_id)
      // Codes of that upload may count as duplicates of codes that would be deleted.
      const open = await findOpenUpload(store, list.number)
      if (open && isRunning(open, clock())) throw uploadInProgress()
      await lockCouponListRows(store, [list.number])
      const codes = await find(store, list)
      const kept = await deleteFreeCoupons(store, { listNumber: list.number, codes, now: clock() })
      await this.#record(store, list, codes.length - kept.length)
      return { codes, kept }
    })
  }
}

/** The codes that one transaction found, and those of them that it did not delete. */
interface Step {
  readonly codes: readonly StoredCode[]
  readonly kept: readonly KeptCode[]
}

/** Counts the codes that were not deleted, and names the first. */
class KeptCodes {
  readonly named: { readonly code: string; readonly problem: string }[] = []
  count = 0

  /** Adds those of the wanted codes that a step did not find or did not delete, in the order in which they were wanted. */
  add(wanted: readonly string[], { codes, kept }: Step): void {
    const known = new Set(codes.map(({ code }) => code))
    const held = new Map(kept.map((one) => [one.code, one]))
    for (const code of wanted) {
      const one = held.get(code)
      if (known.has(code) && !one) continue
      this.count++
      if (this.named.length < NOT_DELETED_NAMED_MAX) this.named.push({ code, problem: problemOf(one) })
    }
  }
}

function problemOf(kept: KeptCode | undefined): string {
  if (!kept) return NOT_IN_LIST
  return kept.isIssued ? 'was issued to a user' : 'is held for a message that is being sent'
}

async function requireUpload(store: Store, { number }: StoredCouponList, id: string) {
  const upload = UPLOAD_ID.test(id) ? await findCompletedUpload(store, number, Number(id)) : undefined
  if (upload) return upload
  const details = [{ field: 'upload', problem: 'is not the id of an upload to this list' }]
  throw new AppError('not_found', 'The list has no upload with this id.', details)
}

function choiceFaults(body: object | undefined): Fault[] {
  if (!body || Object.hasOwn(body, 'coupons') !== Object.hasOwn(body, 'upload')) return []
  return [{ field: 'body', problem: 'must contain either coupons or upload' }]
}
