// A naive model of coupon lists whose codes messages hold: what each code of a list is, and which codes each message has.
import { expect } from 'vitest'

/** Messages with the indexes of the lists of which each needs a code. */
export type WantedLists = readonly { readonly message: number; readonly lists: readonly number[] }[]

type CodeState = 'available' | 'held' | 'issued'

export class CouponModel {
  readonly #lists: readonly Map<string, CodeState>[]
  /** Message → list → code. */
  readonly messages = new Map<number, Map<number, string>>()

  constructor(lists: number) {
    this.#lists = Array.from({ length: lists }, () => new Map<string, CodeState>())
  }

  upload(list: number, codes: readonly string[]): void {
    for (const code of codes) if (!this.#at(list).has(code)) this.#at(list).set(code, 'available')
  }

  /** Expects that the answer is right, and takes from it which codes were chosen. */
  hold(wanted: WantedLists, found: ReadonlyMap<number, ReadonlyMap<number, string> | undefined>): void {
    for (const { message, lists } of wanted) {
      const own = this.messages.get(message) ?? new Map<number, string>()
      const missing = lists.filter((list) => !own.has(list))
      const given = found.get(message)
      expectSame(found.has(message), true)
      if (missing.some((list) => this.counts(list).available === 0)) {
        expectSame(given, undefined)
        continue
      }
      expectSame(new Set(given?.keys()), new Set(lists))
      for (const [list, code] of given ?? []) {
        if (own.has(list)) expectSame(code, own.get(list))
        else expectSame(this.#at(list).get(code), 'available')
        if (!own.has(list)) this.#at(list).set(code, 'held')
        own.set(list, code)
      }
      this.messages.set(message, own)
    }
  }

  issue(messages: readonly number[]): void {
    for (const message of messages)
      for (const [list, code] of this.messages.get(message) ?? []) this.#at(list).set(code, 'issued')
  }

  release(messages: readonly number[]): void {
    for (const message of messages) {
      const own = this.messages.get(message) ?? new Map<number, string>()
      for (const [list, code] of own) {
        if (this.#at(list).get(code) !== 'held') continue
        this.#at(list).set(code, 'available')
        own.delete(list)
      }
    }
  }

  /** Expects that only the codes that somebody has were kept. */
  delete(list: number, codes: readonly string[], kept: readonly string[]): void {
    const isFree = (code: string) => this.#at(list).get(code) === 'available'
    const stay = codes.filter((code) => this.#at(list).has(code) && !isFree(code))
    expectSame(new Set(kept), new Set(stay))
    for (const code of codes) if (isFree(code)) this.#at(list).delete(code)
  }

  counts(list: number) {
    const states = [...this.#at(list).values()]
    const count = (wanted: string) => states.filter((state) => state === wanted).length
    return { total: states.length, available: count('available'), held: count('held'), issued: count('issued') }
  }

  #at(list: number): Map<string, CodeState> {
    return this.#lists[list] as Map<string, CodeState>
  }
}

function expectSame(found: unknown, wanted: unknown): void {
  expect(found).toEqual(wanted)
}
