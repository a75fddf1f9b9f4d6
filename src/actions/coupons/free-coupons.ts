// Finds codes of a list that nobody has: first those that were given back, then those of its uploads that were never taken, in the
// order in which they were added. A list of 300,000 codes takes as long as one of ten.
import { findUploadAfter } from '../../store/coupons/completed-uploads.ts'
import { saveTakenThrough, type StoredCouponList } from '../../store/coupons/coupon-lists.ts'
import { findCodesById, listCodesById, type StoredCode } from '../../store/coupons/coupons.ts'
import { listReleased, removeReleased } from '../../store/coupons/released-coupons.ts'
import type { Store } from '../../store/store.ts'

/** The free codes that somebody may take at once. */
export class FreeCoupons {
  readonly #store: Store
  readonly #list: StoredCouponList
  readonly #released: readonly StoredCode[]
  readonly #fresh: readonly StoredCode[]
  #taken = 0

  /** Finds at most `max` codes of a list, which the caller has locked. */
  static async find(store: Store, list: StoredCouponList, max: number): Promise<FreeCoupons> {
    const released = await findCodesById(store, await listReleased(store, list.number, max))
    const fresh = await listFresh(store, list, max - released.length)
    return new FreeCoupons(store, list, { released, fresh })
  }

  private constructor(
    store: Store,
    list: StoredCouponList,
    { released, fresh }: { readonly released: readonly StoredCode[]; readonly fresh: readonly StoredCode[] },
  ) {
    this.#store = store
    this.#list = list
    this.#released = released
    this.#fresh = fresh
  }

  get isEmpty(): boolean {
    return this.#taken === this.#released.length + this.#fresh.length
  }

  /** There must be one. */
  take(): StoredCode {
    const code = this.#released[this.#taken] ?? this.#fresh[this.#taken - this.#released.length]
    if (!code) throw new Error('the list has no free code')
    this.#taken++
    return code
  }

  /** Records which codes were taken; returns how many. */
  async save(): Promise<number> {
    const [store, { number }] = [this.#store, this.#list]
    const released = this.#released.slice(0, this.#taken)
    const lastFresh = this.#fresh[this.#taken - released.length - 1]
    await removeReleased(
      store,
      number,
      released.map(({ id }) => id),
    )
    if (lastFresh) await saveTakenThrough(store, number, lastFresh.id)
    return this.#taken
  }
}

/** The first `max` codes that were never taken. Each upload has ids of its own, so their range needs no index of the list. */
async function listFresh(store: Store, list: StoredCouponList, max: number): Promise<StoredCode[]> {
  const fresh: StoredCode[] = []
  let after = list.takenThrough
  while (fresh.length < max) {
    const upload = await findUploadAfter(store, list.number, after)
    if (!upload) break
    const ids = { first: Math.max(after + 1, upload.firstCouponId), last: upload.lastCouponId }
    fresh.push(...(await listCodesById(store, ids, max - fresh.length)))
    after = upload.lastCouponId
  }
  return fresh
}
