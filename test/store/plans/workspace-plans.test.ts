// Checks that what is known of keys, and labels of categories, are found by the indexes of one workspace on every store.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Database, Store } from '../../../src/store/store.ts'
import { findLabels, findLabelsIn, saveLabels } from '../../../src/store/workspaces/category-labels.ts'
import { findKeyUses, forgetOtherUses, saveKeyUses } from '../../../src/store/workspaces/key-uses.ts'
import { explain, expectIndexed } from '../../support/query-plan.ts'
import { recordQueries } from '../../support/record-queries.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

/** Enough that PostgreSQL has reason to prefer one index to another. */
const CATEGORIES = 1_000
const LABELS = { de: 'Angebote', fr: 'Offres', 'pt-BR': 'Ofertas', ja: '特典' }

describeEachStore('Facts about a workspace', (kind) => {
  let location: TestLocation
  let database: Database

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    await database.write(async (store) => {
      for (let index = 0; index < CATEGORIES; index++) {
        await saveLabels(store, { workspaceId: `w${index % 5}`, category: `c${index}` }, LABELS)
      }
      const uses = Array.from({ length: CATEGORIES }, (_, index) => {
        return { workspaceId: `w${index}`, keyHash: `h${index}`, usedAt: index }
      })
      await saveKeyUses(store, uses)
    })
    if (kind === 'postgres') await sql`vacuum analyze`.execute(database.query)
  }, 120_000)
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  it.each<[what: string, work: (store: Store) => Promise<unknown>, columns: readonly string[]]>([
    ['labels of some categories', (store) => findLabels(store, 'w1', ['c1', 'c6']), ['category']],
    ['labels in a language', (store) => findLabelsIn(store, 'w1', 'pt'), ['language']],
    ['labels that are replaced', (store) => saveLabels(store, { workspaceId: 'w1', category: 'c1' }, {}), ['category']],
    ['uses of keys', (store) => findKeyUses(store, 'w1'), ['workspace_id']],
    ['uses of keys that are forgotten', (store) => forgetOtherUses(store, 'w1', ['h1']), ['workspace_id']],
  ])('find %s by their index', async (_what, work, columns) => {
    const queries = await recordQueries(database, work)
    for (const query of queries) expectIndexed(await explain(database, query), ...columns)
  })

  it('find the labels of a language with those for its countries, and no others', async () => {
    const labels = { de: '1', deu: '2', 'de-AT': '3', 'de-Latn-CH': '4', den: '5', en: '6' }
    await database.write((store) => saveLabels(store, { workspaceId: 'own', category: 'News' }, labels))
    const found = await findLabelsIn(database, 'own', 'de')
    expect(found).toEqual(new Map([['News', { de: '1', 'de-AT': '3', 'de-Latn-CH': '4' }]]))
  })
})
