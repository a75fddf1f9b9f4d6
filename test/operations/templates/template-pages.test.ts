// Searches for email templates during changes: every answer comes from one snapshot.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { firstVersion, nextVersion, type TemplateMeta } from '../../../src/core/templates/template.ts'
import { DEFAULT_SETTINGS, type Workspace } from '../../../src/core/workspace.ts'
import type { Parts } from '../../../src/operations/operation.ts'
import { searchTemplates } from '../../../src/operations/templates/search-templates.ts'
import { KeyedQueue } from '../../../src/concurrency/keyed-queue.ts'
import { findCurrentTemplate, saveTemplate } from '../../../src/actions/save-template.ts'
import type { Database } from '../../../src/store/store.ts'
import { findTemplateVersions, removeTemplateVersions } from '../../../src/store/templates/template-versions.ts'
import { removeTemplate } from '../../../src/store/templates/templates.ts'
import { meddled } from '../../support/meddled-store.ts'
import { watchRows } from '../../support/record-queries.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

const WORKSPACE: Workspace = {
  ...DEFAULT_SETTINGS,
  id: 'main',
  name: 'main',
  createdAt: 1,
  globalControlSeed: 'seed',
  linkKey: 'key',
}
const ALL = { page: 1, entries: 15, is_count_required: true }

describeEachStore('A search during changes of templates (search_templates)', (kind) => {
  let location: TestLocation
  let database: Database

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
  })
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  async function add(id: string, name: string, groupId: string | null, details = DETAILS): Promise<void> {
    const meta = { ...META, templateId: id, templateName: name, groupId, locale: id }
    const made = firstVersion(id, { details, meta, source: 'API' }, 1)
    await database.write((store) => saveTemplate(store, WORKSPACE.id, made))
  }

  async function move(id: string, groupId: string | null): Promise<void> {
    await database.write(async (store) => {
      const current = await findCurrentTemplate(store, WORKSPACE.id, id)
      if (!current) throw new Error(`there is no template ${id}`)
      const made = nextVersion(current, { details: {}, meta: { groupId } }, { updatedBy: 'ben', now: 2 })
      await saveTemplate(store, WORKSPACE.id, made, current)
    })
  }

  /** The answer of a search during which a change commits after the first query of templates. */
  async function searchDuring(change: () => Promise<void>, filters: object) {
    const request = { workspace: WORKSPACE, body: { ...ALL, ...filters } } as never
    const parts: Partial<Parts> = { database: meddled(database, 'templates', change), queue: new KeyedQueue() }
    return (await searchTemplates.handle(request, parts as Parts)) as {
      readonly data: readonly { readonly external_template_id: string; readonly total_templates_in_group?: number }[]
      readonly total_count: number
    }
  }

  it('counts as many templates as it shows while others are added', async () => {
    await add('one', 'Added', null)
    const { data, total_count } = await searchDuring(() => add('two', 'Added', null), { template_name: 'Added' })
    expect(data).toHaveLength(total_count)
  })

  it('counts as many templates as it shows while one of them is deleted', async () => {
    for (const id of ['left', 'gone']) await add(id, 'Deleted', null)
    const remove = () =>
      database.write(async (store) => {
        await removeTemplate(store, WORKSPACE.id, 'gone')
        await removeTemplateVersions(store, WORKSPACE.id, 'gone')
      })
    const { data, total_count } = await searchDuring(remove, { template_name: 'Deleted' })
    expect([data.map(({ external_template_id: id }) => id), total_count]).toEqual([['left'], 1])
  })

  it('counts none if it shows none while the first is added', async () => {
    const { data, total_count } = await searchDuring(() => add('first', 'First', null), { template_name: 'First' })
    expect(data).toHaveLength(total_count)
  })

  it('reads large templates of a page in several statements, so that others can read between them', async () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const lengths = [400_000, 400_000, 400_000, 1_100_000, 10]
    const contents = lengths.map((length, index) => String(index).repeat(length))
    for (const [index, name] of names.entries()) {
      await add(`large-${name}`, 'Large', null, { ...DETAILS, emailContent: contents[index] as string })
    }
    const { database: watched, rowsOfQueries } = watchRows(database)
    const keys = names.map((name) => ({ externalTemplateId: `large-${name}`, version: 1 }))
    const found = await findTemplateVersions(watched, WORKSPACE.id, keys)
    expect(found.map(({ details }) => details.emailContent)).toEqual(contents)
    // The sizes of all; two templates; one that does not fit with them; the largest alone; the last.
    expect(rowsOfQueries).toEqual([5, 2, 1, 1, 1])
  })

  it('shows a default template with the counts of its group while the last child leaves it', async () => {
    await add('parent', 'Grouped', null)
    await add('child', 'Grouped', 'parent')
    const grouped = { template_name: 'Grouped', is_grouped_response: true }
    const { data, total_count } = await searchDuring(() => move('child', null), grouped)
    expect(data).toMatchObject([
      {
        external_template_id: 'parent',
        is_default_template_of_group: true,
        unique_locale_count: 2,
        unique_variation_count: 0,
        total_templates_in_group: 2,
      },
    ])
    expect(total_count).toBe(1)
  })
})

const DETAILS = { emailContent: '<p>', subject: '', attachments: [], thumbnailUrl: '', senderName: '' }
const META: TemplateMeta = {
  templateId: '',
  templateName: '',
  templateVersion: '1.0',
  templateType: 'CUSTOM',
  createdBy: 'anna',
  groupId: null,
  locale: null,
  variation: null,
}
