// Codes that messages hold, on every store: random lives of lists against a naive model, and transactions at the same time.
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findActiveListsByLabel } from '../../../src/actions/coupons/active-coupon-lists.ts'
import { deleteFreeCoupons } from '../../../src/actions/coupons/delete-free-coupons.ts'
import {
  findHeldCodes,
  holdCoupons,
  issueCoupons,
  releaseCoupons,
  type MessageCodes,
} from '../../../src/actions/coupons/hold-coupons.ts'
import { lockCouponListRows, saveCouponList } from '../../../src/store/coupons/coupon-lists.ts'
import { findCodes } from '../../../src/store/coupons/coupons.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import { CouponModel, type WantedLists } from '../../support/coupons/coupon-model.ts'
import { addUpload, makeList } from '../../support/coupons/coupon-store.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

type Step =
  | { readonly kind: 'upload'; readonly list: number; readonly codes: readonly string[] }
  | { readonly kind: 'hold'; readonly wanted: WantedLists }
  | { readonly kind: 'issue' | 'release'; readonly messages: readonly number[] }
  | { readonly kind: 'delete'; readonly list: number; readonly codes: readonly string[] }

const LISTS = 3
const MESSAGES = 8

const someList = fc.nat(LISTS - 1)
const someCodes = fc.uniqueArray(
  fc.nat(11).map((number) => `C${number}`),
  { minLength: 1, maxLength: 6 },
)
const someMessages = fc.uniqueArray(fc.nat(MESSAGES - 1), { minLength: 1, maxLength: 4 })
const someWanted = fc.uniqueArray(
  fc.record({ message: fc.nat(MESSAGES - 1), lists: fc.uniqueArray(someList, { maxLength: LISTS }) }),
  { selector: ({ message }) => message, minLength: 1, maxLength: 5 },
)
const someStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('upload' as const), list: someList, codes: someCodes }),
  fc.record({ kind: fc.constant('hold' as const), wanted: someWanted }),
  fc.record({ kind: fc.constant('hold' as const), wanted: someWanted }),
  fc.record({ kind: fc.constantFrom('issue' as const, 'release' as const), messages: someMessages }),
  fc.record({ kind: fc.constant('delete' as const), list: someList, codes: someCodes }),
)

describeEachStore('The codes of messages', (kind) => {
  let location: TestLocation
  let database: Database
  let runs = 0

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
  })
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  const makeLists = (count: number) =>
    database.write(async (store) => {
      const numbers: number[] = []
      for (let made = 0; made < count; made++) numbers.push((await makeList(store)).number)
      return numbers
    })
  const countsOf = async (number: number) => {
    const list = (await database.write((store) => lockCouponListRows(store, [number]))).get(number)
    if (!list) throw new Error('no such list')
    const { totalCoupons: total, availableCoupons: available, heldCoupons: held, issuedCoupons: issued } = list
    return { total, available, held, issued }
  }
  const hold = (run: number, wanted: readonly { message: number; listNumbers: number[] }[]) =>
    database.write((store) => holdCoupons(store, { run, at: 1, wanted }))
  const deleteCodesOf = async (store: Store, number: number, codes: readonly string[]) => {
    const list = (await lockCouponListRows(store, [number])).get(number)
    const found = list ? await findCodes(store, list, codes) : []
    return deleteFreeCoupons(store, { listNumber: number, codes: found, now: 1 })
  }

  async function apply(step: Step, model: CouponModel, { run, numbers }: { run: number; numbers: readonly number[] }) {
    const numberOf = (list: number) => numbers[list] as number
    const byIndex = (codes: MessageCodes) =>
      new Map([...codes].map(([number, code]) => [numbers.indexOf(number), code]))
    switch (step.kind) {
      case 'upload':
        await database.write((store) => addUpload(store, numberOf(step.list), step.codes))
        return model.upload(step.list, step.codes)
      case 'hold': {
        const wanted = step.wanted.map(({ message, lists }) => ({ message, listNumbers: lists.map(numberOf) }))
        const found = await hold(run, wanted)
        return model.hold(
          step.wanted,
          new Map([...found].map(([message, codes]) => [message, codes && byIndex(codes)])),
        )
      }
      case 'issue':
        await database.write((store) => issueCoupons(store, run, step.messages))
        return model.issue(step.messages)
      case 'release':
        await database.write((store) => releaseCoupons(store, run, step.messages))
        return model.release(step.messages)
      case 'delete': {
        const kept = await database.write((store) => deleteCodesOf(store, numberOf(step.list), step.codes))
        model.delete(
          step.list,
          step.codes,
          kept.map(({ code }) => code),
        )
      }
    }
  }

  it('always add up to the codes of the list, and belong to one message each', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(someStep, { minLength: 4, maxLength: 25, size: 'max' }), async (steps) => {
        const [model, run, numbers] = [new CouponModel(LISTS), ++runs, await makeLists(LISTS)]
        for (const step of steps) {
          await apply(step, model, { run, numbers })
          for (const [list, number] of numbers.entries()) {
            const counts = await countsOf(number)
            expect(counts).toEqual(model.counts(list))
            expect(counts.total).toBe(counts.available + counts.held + counts.issued)
          }
        }
        const held = await findHeldCodes(database, run, [...Array(MESSAGES).keys()])
        const expected = [...model.messages].filter(([, codes]) => codes.size > 0)
        const named = expected.map(
          ([message, codes]) => [message, new Map([...codes].map(([list, code]) => [numbers[list], code]))] as const,
        )
        expect(held).toEqual(new Map(named))
      }),
      { numRuns: kind === 'sqlite' ? 60 : 25 },
    )
  }, 120_000)

  it('are different, whichever transactions take them at the same time', async () => {
    const [one, other] = (await makeLists(2)) as [number, number]
    await database.write(async (store) => {
      await addUpload(store, one, codesOf('A', 200))
      await addUpload(store, other, codesOf('B', 200))
    })
    const takers = Array.from({ length: 8 }, (_, taker) => {
      const listNumbers = taker % 2 === 0 ? [one, other] : [other, one]
      const wanted = Array.from({ length: 25 }, (_, index) => ({ message: taker * 25 + index, listNumbers }))
      return hold(1_000_001, wanted)
    })
    const found = (await Promise.all(takers)).flatMap((codes) => [...codes.values()])
    for (const number of [one, other]) {
      const codes = found.map((own) => own?.get(number))
      expect(new Set(codes).size).toBe(200)
      expect(codes).not.toContain(undefined)
      expect(await countsOf(number)).toEqual({ total: 200, available: 0, held: 200, issued: 0 })
    }
  })

  it('are those that were given back first, once others gave some back', async () => {
    const [list] = (await makeLists(1)) as [number]
    await database.write((store) => addUpload(store, list, ['A', 'B', 'C']))
    const codesOfRun = async (run: number, message: number) =>
      (await hold(run, [{ message, listNumbers: [list] }])).get(message)?.get(list)
    expect([await codesOfRun(1_000_002, 1), await codesOfRun(1_000_002, 2)]).toEqual(['A', 'B'])
    await database.write((store) => releaseCoupons(store, 1_000_002, [1]))
    expect([await codesOfRun(1_000_003, 1), await codesOfRun(1_000_003, 2)]).toEqual(['A', 'C'])
    expect(await codesOfRun(1_000_003, 3)).toBeUndefined()
  })

  it('come only from ACTIVE lists, and stay with their messages in others', async () => {
    const today = '2026-03-10'
    const lists = await database.write(async (store) => {
      const made = [await makeList(store, 'own'), await makeList(store, 'own'), await makeList(store, 'own')] as const
      await addUpload(store, made[1].number, ['A'])
      return made
    })
    await hold(1_000_004, [{ message: 1, listNumbers: [lists[1].number] }])
    await database.write(async (store) => {
      const [, archived, expired] = lists
      const current = (await lockCouponListRows(store, [archived.number])).get(archived.number)
      if (current) await saveCouponList(store, { ...current, archivedAt: 2 })
      await saveCouponList(store, { ...expired, expiresAt: '2026-03-09' })
      await makeList(store, 'other')
    })
    const labels = lists.map(({ label }) => label)
    const active = await findActiveListsByLabel(database, 'own', { labels: [...labels, 'none'], today })
    expect([...active.keys()]).toEqual([lists[0].label])
    expect(await findHeldCodes(database, 1_000_004, [1])).toEqual(new Map([[1, new Map([[lists[1].number, 'A']])]]))
    expect(await countsOf(lists[1].number)).toEqual({ total: 1, available: 0, held: 1, issued: 0 })
  })
})

function codesOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`)
}
