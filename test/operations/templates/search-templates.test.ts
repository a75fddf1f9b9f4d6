// Search Email Template through real HTTP, on every store: one case per rule of the document and of its decisions.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstVersion } from '../../../src/core/templates/template.ts'
import { saveLatest } from '../../../src/store/templates/templates.ts'
import { expectOthersFirst } from '../../support/held-turn.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { newTemplate, ROOMY, SEARCH, TemplateCaller, TEMPLATES } from '../../support/calls/template-calls.ts'

const all = { page: 1, entries: 15 }
/** The only version of a template, with just the fields that searches read. */
const latestOf = (number: number) => {
  const meta = {
    templateId: `id-${number}`,
    templateName: `name ${(number * 7_919) % 3_000}`,
    templateVersion: '1',
    templateType: 'CUSTOM',
    createdBy: 'ann',
    groupId: null,
    locale: null,
    variation: null,
  } as const
  const details = { emailContent: '', subject: '', attachments: [], thumbnailUrl: '', senderName: '' }
  return firstVersion(`template-${number}`, { details, meta, source: 'API' }, 0)
}
const day = (number: number) => Date.UTC(2025, 0, number)

describeEachStore('Search Email Template (search_templates)', (kind) => {
  let server: TestServer

  beforeAll(async () => void (server = await startServer(kind)))
  afterAll(() => server.stop())

  const newCaller = async () => new TemplateCaller(server, await server.makeWorkspace(ROOMY))

  describe('requests', () => {
    let templates: TemplateCaller
    beforeAll(async () => void (templates = await newCaller()))

    const refusals: [rule: string, body: unknown, fields: string[]][] = [
      ['neither page nor entries', {}, ['page', 'entries']],
      ['page 0', { ...all, page: 0 }, ['page']],
      ['a negative page', { ...all, page: -1 }, ['page']],
      ['a fractional page', { ...all, page: 1.5 }, ['page']],
      ['a page as a string', { ...all, page: '1' }, ['page']],
      ['a page beyond the integer range', { ...all, page: 1e300 }, ['page']],
      ['zero entries', { ...all, entries: 0 }, ['entries']],
      ['more than 15 entries', { ...all, entries: 16 }, ['entries']],
      ['an unknown filter', { ...all, template_nam: 'x' }, ['template_nam']],
      ['an unknown type', { ...all, template_type: ['CUSTOM', 'custom'] }, ['template_type[1]']],
      [
        'a filter of the wrong type',
        { ...all, template_name: ['x'], created_by: 'x' },
        ['template_name', 'created_by'],
      ],
      ['an unknown sorting key', { ...all, sort_params: [{ created_at: 'ASCENDING' }] }, ['sort_params[0].created_at']],
      [
        'an unknown sorting order',
        { ...all, sort_params: [{ template_name: 'ASC' }] },
        ['sort_params[0].template_name'],
      ],
      [
        'an item of external_template_ids without its id, or with an invalid version',
        { ...all, external_template_ids: [{ version: 1 }, { external_template_id: 'x', version: 0 }] },
        ['external_template_ids[0].external_template_id', 'external_template_ids[1].version'],
      ],
      ['more than 500 alternatives', { ...all, created_by: Array.from({ length: 501 }, String) }, ['created_by']],
      [
        'flags that are not booleans',
        { ...all, is_count_required: 'true', is_grouped_response: 1 },
        ['is_count_required', 'is_grouped_response'],
      ],
    ]
    it.each(refusals)('are refused with %s', async (_rule, body, fields) => {
      expectRefusal(await templates.search(body), 400, 'invalid_request', fields)
    })

    it('require the key of the tile data, and no SVC-APPKEY', async () => {
      const call = (options: object) => server.call('POST', SEARCH, { body: all, ...options })
      expect((await call({ headers: { 'svc-appkey': undefined } })).status).toBe(200)
      expect((await call({ headers: { 'svc-appkey': 'another' } })).status).toBe(200)
      expectRefusal(await call({ tile: 'reports' }), 403, 'forbidden')
      expectRefusal(await call({ as: null }), 401, 'unauthorized')
    })

    it('are limited to 100 a minute', async () => {
      server.setClock(day(1))
      const limited = new TemplateCaller(server, await server.makeWorkspace())
      const answer = await limited.search(all)
      expect(answer.headers.get('x-ratelimit-limit')).toBe('100')
      expect(answer.headers.get('x-ratelimit-remaining')).toBe('99')
      for (let count = 2; count <= 100; count++) expect((await limited.search(all)).status).toBe(200)
      expectRefusal(await limited.search(all), 429, 'rate_limited')
      server.setClock(undefined)
    })

    it('return an empty page if there are no templates, and total_count only if requested', async () => {
      const empty = await newCaller()
      expect((await empty.search(all)).body).toEqual({ data: [] })
      expect((await empty.search({ ...all, is_count_required: true })).body).toEqual({ data: [], total_count: 0 })
    })
  })

  describe('filters', () => {
    let templates: TemplateCaller
    const ids: Record<string, string> = {}

    beforeAll(async () => {
      templates = await newCaller()
      const add = async (name: string, meta: object) => {
        ids[name] = await templates.add({ template_name: name, ...meta })
      }
      await add('Alpha', { template_id: 'a', template_version: '1.0', created_by: 'anna' })
      await add('Beta', { template_id: 'b', template_version: '1.0', created_by: 'ben', template_type: 'PRE_BUILT' })
      await add('Gamma', { template_id: 'a', template_version: '2.0', created_by: 'cleo' })
      await templates.change(ids['Gamma'] as string, {}, 'anna')
      await templates.change(ids['Beta'] as string, { template_name: 'Was Beta' }, 'ben')
      await templates.change(ids['Beta'] as string, { template_name: 'Beta' }, 'dora')
      await (await newCaller()).add({ template_name: 'Alpha', template_id: 'a', created_by: 'anna' })
    })

    const cases: [rule: string, body: object, names: string[]][] = [
      ['return all email templates if they are empty', {}, ['Alpha', 'Beta', 'Gamma']],
      ['return the template with this template_name', { template_name: 'Alpha' }, ['Alpha']],
      ['match template_name exactly', { template_name: 'alpha' }, []],
      ['do not match the name of a previous version', { template_name: 'Was Beta' }, []],
      ['match template_id with meta_info.template_id', { template_id: 'a' }, ['Alpha', 'Gamma']],
      ['match template_version', { template_version: '1.0' }, ['Alpha', 'Beta']],
      ['match template_type', { template_type: ['PRE_BUILT'] }, ['Beta']],
      ['accept both values of template_type', { template_type: ['PRE_BUILT', 'CUSTOM'] }, ['Alpha', 'Beta', 'Gamma']],
      [
        'find templates created through the API by the source API',
        { template_source: ['API'] },
        ['Alpha', 'Beta', 'Gamma'],
      ],
      ['find nothing by an unknown source', { template_source: ['IMPORT'] }, []],
      ['match created_by', { created_by: ['anna'] }, ['Alpha']],
      ['treat the values of one filter as alternatives', { created_by: ['anna', 'ben', 'nobody'] }, ['Alpha', 'Beta']],
      [
        'match updated_by with the last updater, or with the creator before any update',
        { updated_by: ['anna'] },
        ['Alpha', 'Gamma'],
      ],
      ['must all match', { updated_by: ['anna'], created_by: ['cleo'], template_id: 'a' }, ['Gamma']],
      ['find nothing if no template matches all of them', { template_name: 'Alpha', created_by: ['ben'] }, []],
      [
        'ignore an empty array',
        { created_by: [], template_type: [], external_template_ids: [] },
        ['Alpha', 'Beta', 'Gamma'],
      ],
      [
        'ignore an empty string',
        { template_name: '', group_id: '', created_by: [''], template_type: [''] },
        ['Alpha', 'Beta', 'Gamma'],
      ],
      ['find nothing by an unknown group', { group_id: 'nobody' }, []],
    ]
    it.each(cases)('%s', async (_rule, body, names) => {
      const answer = await templates.search({ ...all, ...body, is_count_required: true })
      const found = answer.body.data.map((item) => item.meta_info['template_name'])
      expect(new Set(found)).toEqual(new Set(names))
      expect(answer.body.total_count).toBe(names.length)
    })

    it('are read as text, never as SQL', async () => {
      for (const text of ["' or 1=1 --", '%', '_lpha'])
        expect(await templates.names({ template_name: text })).toEqual([])
    })

    /** The version of each item, by name. */
    const versions = async (body: Record<string, unknown>) => {
      return (await templates.find(body)).map((item) => `${String(item.meta_info['template_name'])} ${item.version}`)
    }
    const named = (name: string, version?: number) => {
      return { external_template_id: ids[name], ...(version !== undefined && { version }) }
    }

    it('return exactly the named versions, even old ones, if only ids are sent', async () => {
      const external_template_ids = [named('Beta', 2), named('Alpha', 1), named('Gamma', 9)]
      expect((await versions({ external_template_ids })).toSorted()).toEqual(['Alpha 1', 'Was Beta 2'])
    })

    it('return the latest version for an id without a version', async () => {
      expect(await versions({ external_template_ids: [named('Beta')] })).toEqual(['Beta 3'])
    })

    it('return each version once, and several of one template', async () => {
      const external_template_ids = [named('Beta', 1), named('Beta', 3), named('Beta'), named('Beta', 1)]
      const answer = await templates.search({ ...all, external_template_ids, is_count_required: true })
      expect(answer.body.data.map(({ version }) => version)).toEqual([3, 1])
      expect(answer.body.total_count).toBe(2)
    })

    it('sort, page and count exact versions by the fields of each version', async () => {
      const external_template_ids = [named('Beta', 1), named('Beta', 2), named('Beta', 3), named('Gamma', 1)]
      const body = { external_template_ids, sort_params: [{ template_name: 'ASCENDING' }], is_count_required: true }
      expect(await versions(body)).toEqual(['Beta 1', 'Beta 3', 'Gamma 1', 'Was Beta 2'])
      const second = await templates.search({ ...body, page: 2, entries: 3 })
      expect(second.body.data.map(({ version }) => version)).toEqual([2])
      expect(second.body.total_count).toBe(4)
      const backwards = { ...body, sort_params: [{ template_name: 'DESCENDING' }] }
      expect(await versions(backwards)).toEqual(['Was Beta 2', 'Gamma 1', 'Beta 3', 'Beta 1'])
    })

    it('return the latest versions of ids that are sent with another filter', async () => {
      const external_template_ids = [named('Beta', 1), named('Alpha', 1)]
      expect(await versions({ external_template_ids, template_type: ['PRE_BUILT'] })).toEqual(['Beta 3'])
      expect((await versions({ external_template_ids, is_grouped_response: true })).toSorted()).toEqual([
        'Alpha 1',
        'Beta 3',
      ])
      expect(await versions({ external_template_ids: [named('Beta', 1)], template_name: '' })).toEqual(['Beta 1'])
    })

    it('find nothing of another workspace, even by id', async () => {
      const elsewhere = await newCaller()
      expect(await elsewhere.find({})).toEqual([])
      expect(await elsewhere.find({ external_template_ids: [named('Alpha', 1), named('Beta')] })).toEqual([])
    })
  })

  describe('sorting and paging', () => {
    let templates: TemplateCaller

    beforeAll(async () => {
      templates = await newCaller()
      // By code point: capitals before small letters, and 𝔸 after ﬁ, although its first UTF-16 unit is smaller.
      const rows = [
        ['b', 'zoe', 5],
        ['B', 'ann', 1],
        ['\u{1d538}', 'ann', 3],
        ['\ufb01', 'bob', 4],
        ['a', 'bob', 2],
        ['b', 'ann', 6],
      ] as const
      for (const [template_name, created_by, at] of rows) {
        server.setClock(day(at))
        await templates.add({ template_name, created_by })
      }
      server.setClock(undefined)
    })

    const ascending = 'ASCENDING'
    const descending = 'DESCENDING'
    const cases: [rule: string, sort: object[] | undefined, days: number[]][] = [
      ['returns the last modified template first by default', undefined, [6, 5, 4, 3, 2, 1]],
      ['uses the default for an empty list', [], [6, 5, 4, 3, 2, 1]],
      ['sorts by last_modified_date ASCENDING', [{ last_modified_date: ascending }], [1, 2, 3, 4, 5, 6]],
      ['sorts by last_modified_date DESCENDING', [{ last_modified_date: descending }], [6, 5, 4, 3, 2, 1]],
      [
        'sorts by template_name ASCENDING, with ties by template id',
        [{ template_name: ascending }],
        [1, 2, 5, 6, 4, 3],
      ],
      ['sorts by template_name DESCENDING', [{ template_name: descending }], [3, 4, 6, 5, 2, 1]],
      ['sorts by last_modified_by ASCENDING', [{ last_modified_by: ascending }], [1, 3, 6, 4, 2, 5]],
      ['sorts by last_modified_by DESCENDING', [{ last_modified_by: descending }], [5, 2, 4, 6, 3, 1]],
      [
        'gives priority to earlier items of the array',
        [{ last_modified_by: ascending }, { last_modified_date: descending }],
        [6, 3, 1, 4, 2, 5],
      ],
      [
        'gives priority to earlier keys of an object',
        [{ last_modified_by: ascending, template_name: descending }],
        [3, 6, 1, 4, 2, 5],
      ],
      [
        'sorts by all three keys',
        [{ template_name: ascending, last_modified_date: descending, last_modified_by: ascending }],
        [1, 2, 6, 5, 4, 3],
      ],
    ]
    it.each(cases)('%s', async (_rule, sort, days) => {
      const items = await templates.find({ ...(sort && { sort_params: sort }) })
      expect(items.map((item) => new Date(item.updated_at).getUTCDate())).toEqual(days)
      // A filter that everything matches uses other indexes, with the same order.
      const filtered = await templates.find({ ...(sort && { sort_params: sort }), created_by: ['ann', 'bob', 'zoe'] })
      expect(filtered).toEqual(items)
      const ids = items.map(({ external_template_id }) => ({ external_template_id }))
      expect(await templates.find({ ...(sort && { sort_params: sort }), external_template_ids: ids })).toEqual(items)
    })

    it('returns pages that never overlap, even if all sorting keys are equal', async () => {
      const equal = await newCaller()
      server.setClock(day(1))
      const ids: string[] = []
      for (let count = 0; count < 11; count++) ids.push(await equal.add({ template_name: 'same' }))
      server.setClock(undefined)
      for (const order of [ascending, descending]) {
        const pages = []
        for (const page of [1, 2, 3]) {
          const body = { page, entries: 5, sort_params: [{ template_name: order }], is_count_required: true }
          const answer = await equal.search(body)
          expect(answer.body.total_count).toBe(11)
          pages.push(answer.body.data.map((item) => item.external_template_id))
        }
        expect(pages.map((page) => page.length)).toEqual([5, 5, 1])
        expect(pages.flat()).toEqual(order === ascending ? ids.toSorted() : ids.toSorted().toReversed())
      }
    })

    it('returns an empty page with the count past the end', async () => {
      for (const page of [2, 1_000_000, Number.MAX_SAFE_INTEGER]) {
        const answer = await templates.search({ page, entries: 15, is_count_required: true })
        expect(answer.status).toBe(200)
        expect(answer.body).toEqual({ data: [], total_count: 6 })
      }
    })
  })

  describe('searches with groups', () => {
    let templates: TemplateCaller
    let parent: string
    let single: string
    let children: string[]

    beforeAll(async () => {
      templates = await newCaller()
      server.setClock(day(1))
      parent = await templates.add({ template_name: 'parent', locale: 'en', variation: 'A', created_by: 'ann' })
      single = await templates.add({ template_name: 'single', created_by: 'bob', locale: 'fr' })
      const members = [
        { locale: 'de', variation: 'A', created_by: 'bob' },
        { locale: 'en', variation: 'B', created_by: 'ann' },
        { created_by: 'ann' },
      ]
      children = []
      for (const member of members)
        children.push(await templates.add({ template_name: 'child', group_id: parent, ...member }))
      const other = await templates.add({ template_name: 'other parent', created_by: 'cleo' })
      await templates.add({ template_name: 'other child', group_id: other, created_by: 'cleo' })
      server.setClock(undefined)
    })

    it('return items exactly as documented', async () => {
      const [item] = await templates.find({ external_template_ids: [{ external_template_id: children[0] }] })
      expect(item).toEqual({
        external_template_id: children[0],
        version: 1,
        created_at: '2025-01-01T00:00:00.000Z',
        updated_at: '2025-01-01T00:00:00.000Z',
        updated_by: 'bob',
        is_default_template_of_group: false,
        basic_details: {
          email_content: '<p>Hello</p>',
          subject: 'Hello',
          attachments: [],
          thumbnail_url: '',
          sender_name: '',
        },
        meta_info: {
          template_id: expect.any(String) as string,
          template_name: 'child',
          template_version: '1.0',
          created_by: 'bob',
          template_type: 'CUSTOM',
          group_id: parent,
          locale: 'de',
          variation: 'A',
        },
      })
    })

    it('return all their templates by the id of the parent', async () => {
      const items = await templates.find({ group_id: parent })
      expect(items.map((item) => item.external_template_id).toSorted()).toEqual([parent, ...children].toSorted())
      for (const item of items) {
        expect(item.is_default_template_of_group).toBe(item.external_template_id === parent)
        expect(item.meta_info['group_id']).toBe(parent)
      }
      expect(await templates.find({ group_id: children[0] })).toEqual([])
      expect(await templates.find({ group_id: single })).toEqual([])
    })

    it('add neither is_default_template_of_group nor group_id to a template in no group', async () => {
      const item = await templates.latest(single)
      expect(item).not.toHaveProperty('is_default_template_of_group')
      expect(item.meta_info).not.toHaveProperty('group_id')
    })

    const byName = [{ template_name: 'ASCENDING' }]
    const counts = (locales: number, variations: number, total: number) => {
      return { unique_locale_count: locales, unique_variation_count: variations, total_templates_in_group: total }
    }

    it('return only default templates, with counts of their groups, and templates in no group', async () => {
      const body = { ...all, is_grouped_response: true, is_count_required: true, sort_params: byName }
      const { data, total_count } = (await templates.search(body)).body
      expect(total_count).toBe(3)
      expect(data.map((item) => item.meta_info['template_name'])).toEqual(['other parent', 'parent', 'single'])
      expect(data[0]).toMatchObject({ ...counts(0, 0, 2), is_default_template_of_group: true })
      expect(data[1]).toMatchObject({ ...counts(2, 2, 4), is_default_template_of_group: true })
      for (const name of Object.keys(counts(0, 0, 0))) expect(data[2]).not.toHaveProperty(name)
    })

    it('show counts only in a grouped answer', async () => {
      const [item] = await templates.find({ template_name: 'parent', is_grouped_response: false })
      for (const name of Object.keys(counts(0, 0, 0))) expect(item).not.toHaveProperty(name)
    })

    it('filter default templates and templates in no group, and still count the whole group', async () => {
      const grouped = { is_grouped_response: true, sort_params: byName }
      expect(await templates.names({ ...grouped, created_by: ['ann'] })).toEqual(['parent'])
      expect(await templates.names({ ...grouped, created_by: ['bob'] })).toEqual(['single'])
      expect(await templates.names({ ...grouped, template_name: 'child' })).toEqual([])
      expect(await templates.names({ ...grouped, group_id: parent })).toEqual(['parent'])
      const ids = [parent, single, children[0]].map((id) => ({ external_template_id: id }))
      expect(await templates.names({ ...grouped, external_template_ids: ids })).toEqual(['parent', 'single'])
      const [item] = await templates.find({ ...grouped, created_by: ['ann'] })
      expect(item).toMatchObject(counts(2, 2, 4))
    })

    it('show an old version with the group it named, and whether its template is a default now', async () => {
      const child = await templates.add({ template_name: 'leaver', group_id: parent })
      await templates.change(child, { group_id: null })
      const named = (id: string) => ({ external_template_ids: [{ external_template_id: id, version: 1 }] })
      const [before] = await templates.find(named(child))
      expect(before).toMatchObject({ is_default_template_of_group: false, meta_info: { group_id: parent } })
      await templates.add({ template_name: 'follower', group_id: child })
      const [since] = await templates.find(named(child))
      expect(since).toMatchObject({ is_default_template_of_group: false, meta_info: { group_id: parent } })
      await templates.change(parent, { template_name: 'parent' })
      const [first] = await templates.find(named(parent))
      expect(first).toMatchObject({ version: 1, is_default_template_of_group: true, meta_info: { group_id: parent } })
    })
  })

  it('finds a template as soon as it is created or updated', async () => {
    const templates = await newCaller()
    const id = await templates.add({ template_name: 'now' })
    expect(await templates.names({ template_name: 'now' })).toEqual(['now'])
    await templates.change(id, { template_name: 'then' })
    expect(await templates.names({ template_name: 'now' })).toEqual([])
    expect(await templates.names({ template_name: 'then' })).toEqual(['then'])
  })

  it('serves the search of another workspace before the queued ones of one workspace', async () => {
    const workspace = await server.makeWorkspace(ROOMY)
    const [many, other] = [new TemplateCaller(server, workspace), await newCaller()]
    await other.add({ template_name: 'beside' })
    await server.database.write(async (store) => {
      for (let number = 0; number < 3_000; number++) await saveLatest(store, workspace.id, latestOf(number), null)
    })
    const sort_params = [{ last_modified_by: 'ASCENDING' }, { template_name: 'ASCENDING' }]
    const farthest = { page: 250, entries: 15, sort_params, is_count_required: true }
    const answers = await expectOthersFirst(server, {
      turn: `templates ${workspace.id}`,
      size: 60,
      send: () => many.search(farthest),
      askOther: async () => expect(await other.names({})).toEqual(['beside']),
    })
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  })

  it('answers 405 to other methods of its paths', async () => {
    expectRefusal(await server.call('PATCH', SEARCH), 405, 'method_not_allowed')
    expectRefusal(await server.call('PATCH', TEMPLATES, { body: newTemplate() }), 405, 'method_not_allowed')
  })
})
