// Checks that coupon lists, their codes and their uploads are looked up by index on every store, with ten of them or a million.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NO_ALERTS } from '../../../src/core/coupons/coupon-list.ts'
import { listCouponListsOf } from '../../../src/store/coupons/coupon-list-pages.ts'
import {
  addCouponList,
  countAddedCoupons,
  countDeletedCoupons,
  countTransfer,
  findCouponList,
  findCouponListsByLabel,
  findTakenNames,
  lockCouponListRows,
  measureCouponLists,
  saveCouponList,
  type StoredCouponList,
} from '../../../src/store/coupons/coupon-lists.ts'
import {
  findCompletedUpload,
  findUploadAfter,
  findUploadsOfCodes,
  listCompletedUploads,
  recordCompletedUpload,
} from '../../../src/store/coupons/completed-uploads.ts'
import {
  closeUpload,
  findOpenUpload,
  giveUpIfAbandoned,
  giveUpUpload,
  keepUploadAlive,
  openUpload,
} from '../../../src/store/coupons/coupon-uploads.ts'
import {
  addCodes,
  deleteCodes,
  deleteCodesById,
  findCodes,
  findCodesById,
  hasCodesById,
  listCodes,
  listCodesById,
  listSimilarCodes,
} from '../../../src/store/coupons/coupons.ts'
import { findHeldByUser } from '../../../src/store/coupons/coupon-holders.ts'
import {
  addHeldCoupons,
  findHeldCoupons,
  findHeldOfList,
  findHolders,
  issueHeldCoupons,
  removeHeldCoupons,
} from '../../../src/store/coupons/held-coupons.ts'
import { addReleased, listReleased, removeReleased } from '../../../src/store/coupons/released-coupons.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import { codesOf } from '../../support/calls/coupon-calls.ts'
import { explain, expectIndexed } from '../../support/query-plan.ts'
import { recordQueries } from '../../support/record-queries.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

/** Enough that PostgreSQL has reason to prefer an index. */
const LISTS = 2_000
const CODES = 20_000
const WORKSPACES = 20

describeEachStore('Coupons', (kind) => {
  let location: TestLocation
  let database: Database
  let list: StoredCouponList

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    await database.write(async (store) => {
      for (let number = 1; number <= LISTS; number++) list = await addList(store, number)
      await addCodes(store, list.number, 1, codesOf('CODE', CODES))
      for (let number = 1; number <= LISTS; number++) {
        await openUpload(store, { listNumber: number, firstCouponId: CODES + number, heartbeatAt: number })
        const range = { firstCouponId: number * 10, lastCouponId: number * 10 + 9 }
        await recordCompletedUpload(store, {
          listNumber: (number % 2) + LISTS - 1,
          ...range,
          addedAt: 1,
          codes: null,
          uploadedBy: null,
        })
      }
      const coupons = Array.from({ length: CODES }, (_, index) => ({ listNumber: list.number, coupon: index + 1 }))
      await addReleased(store, coupons.slice(0, CODES / 2))
      const holding = { message: 1, isIssued: false, at: 1 }
      await addHeldCoupons(
        store,
        coupons.slice(CODES / 2).map((coupon, index) => ({ ...coupon, run: index, ...holding })),
      )
      await sql`analyze`.execute(store.query)
    })
  }, 120_000)
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  // SQLite also calls the number of any row `id`.
  const added = { count: 1, lastCouponId: 1, now: 1 }
  const lookups: [what: string, narrowedBy: string[], work: (store: Store) => Promise<unknown>][] = [
    ['a list by id', ['id'], (store) => findCouponList(store, 'w1', 'list-1')],
    ['the lists of a workspace', ['workspace_id'], (store) => listCouponListsOf(store, 'w1')],
    [
      'a page of lists by a part of their name and their status',
      ['workspace_id'],
      (store) => {
        const status = { wanted: 'ACTIVE', today: '2026-01-01' } as const
        return listCouponListsOf(store, 'w1', { text: 'sum', status, before: 5, max: 51 })
      },
    ],
    ['the uploads to a list', ['list_number'], (store) => listCompletedUploads(store, 1, { before: 5, max: 51 })],
    ['the number and the size of lists', ['workspace_id'], (store) => measureCouponLists(store, 'w1')],
    ['taken names', ['name', 'label'], (store) => findTakenNames(store, 'w1', { name: 'x', label: 'x' })],
    ['a list to change', ['number', 'id'], (store) => saveCouponList(store, list)],
    ['a list whose codes are counted', ['number', 'id'], (store) => countAddedCoupons(store, 1, added)],
    ['the upload of a list', ['list_number', 'id'], (store) => findOpenUpload(store, 1)],
    ['an upload to keep alive', ['first_coupon_id'], (store) => keepUploadAlive(store, CODES + 1, 1)],
    ['an upload to give up', ['first_coupon_id'], (store) => giveUpUpload(store, CODES + 1)],
    ['an abandoned upload', ['first_coupon_id'], (store) => giveUpIfAbandoned(store, CODES + 1, 1)],
    ['an upload to close', ['first_coupon_id'], (store) => closeUpload(store, CODES + 1)],
    ['a list whose codes are taken off', ['number', 'id'], (store) => countDeletedCoupons(store, 1, added)],
    ['codes that are left', ['id'], (store) => hasCodesById(store, { first: 1, last: 100 })],
    ['codes to remove', ['id'], (store) => deleteCodesById(store, { first: 1, last: 1_000 }, 100)],
    ['similar codes', ['id', 'list_number'], (store) => listSimilarCodes(store, { first: 1, last: 100 })],
    ['codes by their texts', ['list_number', 'id'], (store) => findCodes(store, list, ['CODE-1', 'CODE-2'])],
    ['codes by their ids', ['id'], (store) => findCodesById(store, [1, 2])],
    ['codes to delete', ['id'], (store) => deleteCodes(store, [1, 2])],
    ['codes never taken', ['id'], (store) => listCodesById(store, { first: 1, last: 1_000 }, 10)],
    ['the next upload', ['list_number'], (store) => findUploadAfter(store, LISTS, 15)],
    ['lists to lock', ['number', 'id'], (store) => lockCouponListRows(store, [1, 2])],
    ['lists by label', ['label', 'workspace_id'], (store) => findCouponListsByLabel(store, 'w1', ['list-1'])],
    ['a list whose codes change hands', ['number', 'id'], (store) => countTransfer(store, 1, { held: 1 })],
    ['released codes', ['list_number'], (store) => listReleased(store, LISTS, 10)],
    ['codes that are not released any more', ['coupon'], (store) => removeReleased(store, LISTS, [1, 2])],
    ['codes of messages', ['run', 'message'], (store) => findHeldCoupons(store, 1, [1, 2])],
    ['codes to issue', ['run', 'message'], (store) => issueHeldCoupons(store, 1, [1, 2])],
    ['codes to give back', ['run', 'message'], (store) => removeHeldCoupons(store, 1, [1, 2])],
    ['who has codes', ['coupon'], (store) => findHolders(store, LISTS, [1, 2])],
    ['codes of a person', ['user_id'], (store) => findHeldByUser(store, LISTS, [1, 2])],
    ['codes of some messages', ['run', 'message'], (store) => findHeldOfList(store, LISTS, [{ run: 1, message: 1 }])],
    ['a page of codes', ['list_number'], (store) => listCodes(store, LISTS, { after: 'CODE-1', prefix: 'c', max: 10 })],
    ['an upload', ['first_coupon_id'], (store) => findCompletedUpload(store, LISTS, 10)],
    ['the uploads of codes', ['first_coupon_id'], (store) => findUploadsOfCodes(store, LISTS, [15, 25])],
  ]
  it.each(lookups)('finds %s by an index', async (_what, narrowedBy, work) => {
    const queries = await recordQueries(database, work)
    expect(queries.length).toBeGreaterThan(0)
    for (const query of queries) expectIndexed(await explain(database, query), ...narrowedBy)
  })
})

function addList(store: Store, number: number): Promise<StoredCouponList> {
  return addCouponList(store, {
    id: `list-${number}`,
    workspaceId: `w${number % WORKSPACES}`,
    name: `List ${number}`,
    label: `list-${number}`,
    expiresAt: '2199-12-31',
    createdBy: 'anna',
    emailAlertSubscribers: [],
    alertConditions: NO_ALERTS,
    createdAt: number,
  })
}
