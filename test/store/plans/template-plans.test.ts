// Checks that searches of email templates use the indexes of one workspace on every store, with any filters and sorts. SQLite plans
// without statistics, as in production; PostgreSQL plans with them.
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstVersion, type TemplateMeta } from '../../../src/core/templates/template.ts'
import {
  SORT_KEYS,
  SORT_ORDERS,
  type Sort,
  type SortKey,
  type SortOrder,
  type TemplateFilters,
  type TemplateSearch,
} from '../../../src/core/templates/template-search.ts'
import { summarize } from '../../../src/core/templates/template-summary.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import {
  addTemplateVersion,
  countNamedVersions,
  findTemplateVersions,
  listNamedVersions,
} from '../../../src/store/templates/template-versions.ts'
import {
  findListedTemplates,
  listTemplatePlaces,
  type TemplateListFilters,
} from '../../../src/store/templates/template-list.ts'
import {
  addTemplateSummary,
  findTemplateSummaries,
  listTemplateSummaries,
} from '../../../src/store/templates/template-summaries.ts'
import { countOfTemplates, findTemplatesPage, pageOfTemplates } from '../../../src/store/templates/template-pages.ts'
import {
  closeGroupIfEmpty,
  countMembers,
  countsOfGroups,
  findTemplateHolding,
  findTemplates,
  openGroup,
  saveLatest,
} from '../../../src/store/templates/templates.ts'
import { explain, expectIndexed, narrowsBy, type QueryPlan } from '../../support/query-plan.ts'
import { recordQueries } from '../../support/record-queries.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

/** Enough that PostgreSQL has reason to prefer one index to another; SQLite plans without looking at the rows. */
const TEMPLATES = { sqlite: 100, postgres: 8_000 }
const MEMBERS_PER_GROUP = 20
const PAGE = { offset: 30, limit: 15 }
const BY_DATE: Sort = [{ key: 'last_modified_date', order: 'DESCENDING' }]
const SORTED_BY: { readonly [key in SortKey]: string } = {
  template_name: 'templates_sorted_by_name',
  last_modified_date: 'templates_sorted_by_date',
  last_modified_by: 'templates_sorted_by_updater',
}

describeEachStore('Searches of email templates', (kind) => {
  let location: TestLocation
  let database: Database

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    await database.write((store) => addTemplates(store, 'main', TEMPLATES[kind]))
    await database.write((store) => addTemplates(store, 'other', 200))
    if (kind === 'postgres') await sql`vacuum analyze`.execute(database.query)
  }, 120_000)
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  const plansOf = async (work: (store: Store) => Promise<unknown>): Promise<QueryPlan[]> => {
    const plans = []
    for (const query of await recordQueries(database, work)) plans.push(await explain(database, query))
    expect(plans).not.toEqual([])
    return plans
  }
  const pagePlan = async (search: Partial<TemplateSearch>): Promise<QueryPlan> => {
    const whole = { filters: {}, isGrouped: false, includesArchived: false, sort: BY_DATE, ...search }
    const [plan] = await plansOf((store) => pageOfTemplates(store, 'main', whole, PAGE).execute())
    return plan as QueryPlan
  }
  const countPlan = async (search: Partial<TemplateSearch>): Promise<QueryPlan> => {
    const whole = { filters: {}, isGrouped: false, includesArchived: false, sort: BY_DATE, ...search }
    const [plan] = await plansOf((store) => countOfTemplates(store, 'main', whole).execute())
    return plan as QueryPlan
  }

  describe('every sort', () => {
    const sorts = SORT_KEYS.flatMap((key) => SORT_ORDERS.map((order) => [key, order] as const))

    it.each(sorts)('by %s %s walks the index of its key, without sorting', async (key, order) => {
      const plan = await pagePlan({ sort: [{ key, order }] })
      expectIndexed(plan)
      expect(plan.accesses.map(({ index }) => index)).toEqual([SORTED_BY[key]])
      expect(plan.sorts).toBe(false)
    })

    it.each(sorts)('by %s %s before others walks the index of its key', async (key, order) => {
      const others = SORT_KEYS.filter((other) => other !== key)
      for (const sort of [mixed(key, order, others.slice(0, 1)), mixed(key, order, others)]) {
        const plan = await pagePlan({ sort })
        expectIndexed(plan)
        expect(plan.accesses.map(({ index }) => index)).toEqual([SORTED_BY[key]])
      }
    })

    it('with archived templates walks the same index', async () => {
      for (const key of SORT_KEYS) {
        const plan = await pagePlan({ includesArchived: true, sort: [{ key, order: 'ASCENDING' }] })
        expectIndexed(plan)
        expect(plan.accesses.map(({ index }) => index)).toEqual([SORTED_BY[key]])
        expect(plan.sorts).toBe(false)
      }
    })

    it('of a grouped response walks the same index', async () => {
      for (const key of SORT_KEYS) {
        const plan = await pagePlan({ isGrouped: true, sort: [{ key, order: 'ASCENDING' }] })
        expectIndexed(plan)
        expect(plan.accesses.map(({ index }) => index)).toEqual([SORTED_BY[key]])
        expect(plan.sorts).toBe(false)
      }
    })
  })

  /** Filters that name a template or its group. */
  const narrow: [column: string, filters: TemplateFilters][] = [
    ['external_template_id', { externalTemplateId: ['main-7', 'main-8'] }],
    ['external_template_id', { externalTemplateId: Array.from({ length: 100 }, (_id, number) => `main-${number}`) }],
    ['group_id', { groupId: ['main-20'] }],
    ['template_id', { templateId: ['template-7'] }],
    ['template_name', { templateName: ['Name 7'] }],
  ]
  /** Filters that many templates match, and whether an index begins with their column. */
  const common: [column: string, filters: TemplateFilters, isNarrowed: boolean][] = [
    ['template_version', { templateVersion: ['2.0'] }, true],
    ['created_by', { createdBy: ['author-1'] }, true],
    ['updated_by', { updatedBy: ['author-1'] }, true],
    ['template_type', { templateType: ['PRE_BUILT'] }, false],
    ['template_source', { templateSource: ['API'] }, false],
  ]
  const others: TemplateFilters = {
    templateVersion: ['1.0'],
    createdBy: ['author-1', 'author-2'],
    templateType: ['CUSTOM'],
  }

  describe('every filter', () => {
    it.each(narrow)(
      'by %s uses the index of its column, with any sort and any other filters',
      async (column, filters) => {
        for (const sort of [BY_DATE, mixed('template_name', 'ASCENDING', ['last_modified_by'])]) {
          for (const search of [
            { filters, sort },
            { filters: { ...filters, ...others }, sort, isGrouped: true },
          ]) {
            for (const plan of [await pagePlan(search), await countPlan(search)]) {
              expectIndexed(plan, column)
              expectIndexed(plan)
            }
          }
        }
      },
    )

    it.each(common)(
      'by %s reads an index in the default order, without sorting',
      async (column, filters, isNarrowed) => {
        const plan = await pagePlan({ filters })
        expectIndexed(plan)
        expect(plan.sorts).toBe(false)
        // PostgreSQL may know that most templates match, and walk the index of the sort.
        expectIndexed(plan, isNarrowed && kind === 'sqlite' ? column : 'workspace_id')
      },
    )

    it.each(common)('by %s walks the index of another sort, without reading rows', async (_column, filters) => {
      const several = Object.fromEntries(Object.entries(filters).map(([name, values]) => [name, [...values, 'x']]))
      for (const key of SORT_KEYS) {
        for (const sort of [[{ key, order: 'ASCENDING' }] as const, mixed(key, 'DESCENDING', ['last_modified_date'])]) {
          const plan = await pagePlan({ filters: several, sort })
          expectIndexed(plan)
          const readsRows = !plan.text.includes('USING COVERING INDEX')
          expect(kind === 'sqlite' && readsRows).toBe(false)
        }
      }
    })

    it.each(common)('by %s is counted by an index', async (column, filters, isNarrowed) => {
      const plan = await countPlan({ filters })
      expectIndexed(plan)
      expectIndexed(plan, isNarrowed ? column : 'workspace_id')
    })
  })

  describe('a list, last changed first,', () => {
    const NO_FILTERS: TemplateListFilters = {
      namePart: undefined,
      groupId: undefined,
      locale: undefined,
      variation: undefined,
      source: undefined,
      updatedBy: undefined,
      archived: false,
    }
    const filters: [what: string, filters: Partial<TemplateListFilters>][] = [
      ['without filters', {}],
      ['by a part of the name', { namePart: 'x' }],
      ['by group', { groupId: 'main-20' }],
      ['by locale', { locale: 'locale-1' }],
      ['by variation', { variation: 'A' }],
      ['by source', { source: 'DASHBOARD' }],
      ['by who changed it', { updatedBy: 'author-1' }],
      ['with archived ones', { archived: 'all' }],
      ['by all of them', { namePart: 'x', groupId: 'g', locale: 'l', variation: 'v', source: 'API', updatedBy: 'u' }],
    ]

    it.each(filters)(
      '%s walks an index of the order, from one place to another, without reading rows',
      async (_what, given) => {
        const range = { after: { updatedAt: 70_000, id: 'main-70' }, max: 100, examinedMax: 20 }
        const plans = await plansOf((store) => listTemplatePlaces(store, 'main', { ...NO_FILTERS, ...given }, range))
        const conditions = plans.map(({ accesses }) => accesses.map(({ condition }) => condition).join())
        // The first statement finds the end of the portion, the second reads the portion.
        expect(conditions).toEqual([
          expect.stringMatching(/updated_at.*</) as string,
          expect.stringMatching(/updated_at.*>.*updated_at.*<|updated_at.*<.*updated_at.*>/) as string,
        ])
        for (const plan of plans) {
          expectIndexed(plan)
          expect(plan.sorts).toBe(false)
          const readsRows = !plan.text.includes('USING COVERING INDEX')
          expect(kind === 'sqlite' && readsRows).toBe(false)
        }
      },
    )

    it('finds the templates of a page, their summaries and versions by keys', async () => {
      const keys = [3, 4].map((number) => ({ externalTemplateId: `main-${number}`, version: 1 }))
      const plans = await plansOf(async (store) => {
        await findListedTemplates(store, 'main', ['main-3', 'main-4'])
        await findTemplateSummaries(store, 'main', keys)
        await listTemplateSummaries(store, 'main', { id: 'main-3', before: 5, max: 50 })
      })
      for (const plan of plans) {
        expectIndexed(plan, 'external_template_id')
        expect(plan.sorts).toBe(false)
      }
    })
  })

  it('counts without filters by an index, grouped or not', async () => {
    expectIndexed(await countPlan({}))
    expectIndexed(await countPlan({ isGrouped: true }))
  })

  it('reads a page and its counts by indexes of the workspace', async () => {
    for (const isGrouped of [true, false]) {
      const search = { filters: {}, isGrouped, includesArchived: false, sort: BY_DATE }
      const [plan] = await plansOf((store) => findTemplatesPage(store, 'main', search, { ...PAGE, isCounted: true }))
      expectIndexed(plan as QueryPlan)
      expect(plan?.accesses.map(({ index }) => index)).toContain('templates_sorted_by_date')
    }
  })

  it('counts the groups of a page by an index alone', async () => {
    const search = { filters: {}, isGrouped: true, includesArchived: false, sort: BY_DATE }
    const [plan] = await plansOf((store) => findTemplatesPage(store, 'main', search, { ...PAGE, isCounted: false }))
    expect(plan?.accesses.map(({ index }) => index).toSorted()).toEqual([
      'templates_by_group',
      'templates_sorted_by_date',
    ])
    for (const access of (plan as QueryPlan).accesses) {
      expect(narrowsBy(access, access.index === 'templates_by_group' ? 'group_id' : 'workspace_id')).toBe(true)
    }
  })

  it('counts groups by an index alone', async () => {
    const [plan] = await plansOf((store) =>
      countsOfGroups(store, 'main', { parentIds: ['main-0', 'main-20'], includesArchived: false }).execute(),
    )
    expectIndexed(plan as QueryPlan, 'group_id')
    expect(plan?.accesses.map(({ index }) => index)).toEqual(['templates_by_group'])
  })

  it('finds all that a change needs by keys', async () => {
    const plans = await plansOf(async (store) => {
      await findTemplateHolding(store, 'main', { ...META, templateId: 'template-7' })
      await openGroup(store, 'main', 'main-0')
      await closeGroupIfEmpty(store, 'main', 'main-0')
      await countMembers(store, 'main', 'main-0')
    })
    for (const plan of plans) expectIndexed(plan, 'template_id', 'external_template_id', 'group_id')
  })

  it('finds exact versions, and the rows of a page, by their keys', async () => {
    const keys = [3, 4, 5].map((number) => ({ externalTemplateId: `main-${number}`, version: 1 }))
    const ids = keys.map(({ externalTemplateId }) => externalTemplateId)
    const plans = await plansOf(async (store) => {
      await findTemplates(store, 'main', ids)
      await listNamedVersions(store, 'main', keys, {
        ...PAGE,
        sort: mixed('last_modified_by', 'ASCENDING', ['template_name']),
      })
      await countNamedVersions(store, 'main', keys)
      await findTemplateVersions(store, 'main', keys)
    })
    expect(plans).toHaveLength(5)
    for (const plan of plans) expectIndexed(plan, 'external_template_id')
  })
})

const META: TemplateMeta = {
  templateId: '',
  templateName: '',
  templateVersion: '1.0',
  templateType: 'CUSTOM',
  createdBy: '',
  groupId: null,
  locale: null,
  variation: null,
}

function mixed(key: SortKey, order: SortOrder, others: readonly SortKey[]): Sort {
  const opposite = order === 'ASCENDING' ? 'DESCENDING' : 'ASCENDING'
  return [
    { key, order },
    ...others.filter((other) => other !== key).map((other) => ({ key: other, order: opposite }) as const),
  ]
}

async function addTemplates(store: Store, workspaceId: string, count: number): Promise<void> {
  for (let number = 0; number < count; number++) {
    const parent = `${workspaceId}-${number - (number % MEMBERS_PER_GROUP)}`
    const id = `${workspaceId}-${number}`
    const meta: TemplateMeta = {
      ...META,
      templateId: `template-${number}`,
      templateName: `Name ${number}`,
      ...(number % 10 === 0 && { templateVersion: '2.0', templateType: 'PRE_BUILT' }),
      createdBy: `author-${number % 5}`,
      groupId: id === parent ? null : parent,
      locale: `locale-${number % 7}`,
    }
    const details = { emailContent: '<p>', subject: '', attachments: [], thumbnailUrl: '', senderName: '' }
    const made = firstVersion(id, { details, meta, source: 'API' }, number * 1_000)
    await addTemplateVersion(store, workspaceId, made)
    await addTemplateSummary(store, workspaceId, summarize(made, undefined))
    await saveLatest(store, workspaceId, made, parent)
  }
}
