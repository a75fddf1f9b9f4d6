// Lists of email templates and of their versions through real HTTP, on every store: what the filters find, the order and the pages.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstVersion } from '../../../src/core/templates/template.ts'
import { TEMPLATES_EXAMINED_MAX } from '../../../src/operations/templates/list-templates.ts'
import { listTemplatePlaces } from '../../../src/store/templates/template-list.ts'
import { saveLatest } from '../../../src/store/templates/templates.ts'
import { newTemplate, ROOMY, TemplateCaller, TEMPLATES } from '../../support/calls/template-calls.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const minute = (number: number) => Date.UTC(2026, 0, 1, 0, number)

describeEachStore('List email templates (list_templates)', (kind) => {
  let server: TestServer

  beforeAll(async () => void (server = await startServer(kind)))
  afterAll(() => server.stop())

  const newCaller = async () => new TemplateCaller(server, await server.makeWorkspace(ROOMY))
  const namesOf = async (templates: TemplateCaller, query: object) => {
    const { status, body } = await templates.list({ ...query })
    expect(status).toBe(200)
    return body.data.map((item) => item.meta_info['template_name'])
  }
  /** The ids of all pages, page by page. */
  const pagesOf = async (templates: TemplateCaller, query: object) => {
    const pages: string[][] = []
    for (let before: string | null | undefined; before !== null;) {
      const { body } = await templates.list({ ...query, ...(before !== undefined && { before }) })
      pages.push(body.data.map((item) => item.external_template_id))
      before = body.next_before
    }
    return pages
  }

  it('shows templates without their contents, last changed first', async () => {
    const templates = await newCaller()
    server.setClock(minute(1))
    const parent = await templates.add({ template_id: 'p', template_name: 'Parent', locale: 'en' }, { subject: 'Hi' })
    server.setClock(minute(2))
    const child = await templates.add({ template_id: 'c', group_id: parent, locale: 'de', variation: 'B' })
    server.setClock(minute(3))
    await templates.change(parent, { template_version: '2' }, 'ben')
    server.setClock(undefined)
    const { body } = await templates.list()
    expect(body).toEqual({
      data: [
        {
          external_template_id: parent,
          version: 2,
          updated_at: '2026-01-01T00:03:00.000Z',
          updated_by: 'ben',
          is_default_template_of_group: true,
          template_source: 'API',
          basic_details: { subject: 'Hi' },
          meta_info: {
            template_id: 'p',
            template_name: 'Parent',
            template_version: '2',
            created_by: 'anna@example.com',
            template_type: 'CUSTOM',
            group_id: parent,
            locale: 'en',
          },
        },
        expect.objectContaining({ external_template_id: child, version: 1, is_default_template_of_group: false }),
      ],
      next_before: null,
    })
  })

  describe('filters', () => {
    let templates: TemplateCaller
    let group: string

    beforeAll(async () => {
      templates = await newCaller()
      group = await templates.add({ template_name: 'Sommer – Grüße', locale: 'de' })
      await templates.add({ template_name: 'SUMMER sale', locale: 'en', variation: 'A', group_id: group })
      await templates.add({ template_name: '100%_off', locale: 'en', variation: 'B' })
      const old = await templates.add({ template_name: 'Old summer', created_by: 'cleo' })
      await templates.change(old, {}, 'dora')
      await templates.archive(old)
    })

    const cases: [rule: string, query: object, names: string[]][] = [
      ['without any, all that are not archived', {}, ['100%_off', 'SUMMER sale', 'Sommer – Grüße']],
      ['a part of the name, without case in ASCII letters', { search: 'umMer S' }, ['SUMMER sale']],
      ['case counts in other letters', { search: 'GRÜSSE' }, []],
      ['other letters as they are', { search: 'grüß' }, ['Sommer – Grüße']],
      ['a part with characters of patterns', { search: '%_O' }, ['100%_off']],
      ['a percent sign is no pattern', { search: 'S%e' }, []],
      ['the locale', { locale: 'en' }, ['100%_off', 'SUMMER sale']],
      ['the variation', { variation: 'B' }, ['100%_off']],
      ['the source', { source: 'DASHBOARD' }, []],
      ['who made the latest version', { by: 'dora', archived: 'all' }, ['Old summer']],
      ['not who made an earlier one', { by: 'cleo', archived: 'all' }, []],
      ['archived ones only', { archived: 'true' }, ['Old summer']],
      ['all', { archived: 'all', search: 'summer' }, ['Old summer', 'SUMMER sale']],
      [
        'several, which must all match',
        { locale: 'en', variation: 'A', source: 'API', search: 'sale' },
        ['SUMMER sale'],
      ],
    ]
    it.each(cases)('%s', async (_rule, query, names) => {
      expect(await namesOf(templates, query)).toEqual(names)
    })

    it('a group, with its default template', async () => {
      expect(await namesOf(templates, { group_id: group })).toEqual(['SUMMER sale', 'Sommer – Grüße'])
    })

    it('nothing of another workspace', async () => {
      expect(await namesOf(await newCaller(), { archived: 'all' })).toEqual([])
    })
  })

  it('has pages that neither overlap nor skip, even if all were changed at the same instant', async () => {
    const templates = await newCaller()
    server.setClock(minute(1))
    const ids: string[] = []
    for (let count = 0; count < 7; count++) ids.push(await templates.add({ locale: count % 2 === 0 ? 'de' : 'en' }))
    server.setClock(undefined)
    const ordered = ids.toSorted().toReversed()
    const pages = await pagesOf(templates, { limit: 3 })
    expect(pages).toEqual([ordered.slice(0, 3), ordered.slice(3, 6), ordered.slice(6)])
    const german = ordered.filter((id) => ids.indexOf(id) % 2 === 0)
    expect(await pagesOf(templates, { limit: 2, locale: 'de' })).toEqual([german.slice(0, 2), german.slice(2)])
  })

  it('goes on behind a template that was deleted or changed since the last page', async () => {
    const templates = await newCaller()
    const ids: string[] = []
    for (let count = 0; count < 4; count++) {
      server.setClock(minute(count))
      ids.push(await templates.add())
    }
    const { body } = await templates.list({ limit: 2 })
    server.setClock(minute(9))
    await templates.delete(ids[2] as string)
    await templates.change(ids[3] as string)
    server.setClock(undefined)
    const rest = await templates.list({ limit: 2, before: body.next_before })
    expect(rest.body.data.map((item) => item.external_template_id)).toEqual([ids[1], ids[0]])
    expect(rest.body.next_before).toBeNull()
  })

  it('examines a bounded number of templates for a page, which may be empty', async () => {
    const workspace = await server.makeWorkspace(ROOMY)
    await server.database.write(async (store) => {
      for (let number = 0; number < 30; number++) await saveLatest(store, workspace.id, latestOf(number), null)
    })
    const filters = {
      namePart: 'name 1',
      groupId: undefined,
      locale: undefined,
      variation: undefined,
      source: undefined,
      updatedBy: undefined,
      archived: false,
    } as const
    const list = (after: { updatedAt: number; id: string } | undefined, examinedMax: number) =>
      listTemplatePlaces(server.database, workspace.id, filters, { after, max: 100, examinedMax })
    const first = await list(undefined, 10)
    expect(first).toEqual({ places: [], examinedTo: { updatedAt: 20_000, id: 'template-20' } })
    const second = await list(first.examinedTo, 10)
    expect(second.places).toHaveLength(10)
    expect(second.examinedTo).toEqual({ updatedAt: 10_000, id: 'template-10' })
    const last = await list(second.examinedTo, TEMPLATES_EXAMINED_MAX)
    expect(last).toEqual({ places: [{ updatedAt: 1_000, id: 'template-1' }], examinedTo: undefined })
  })

  it('refuses cursors that it has not made, and unknown values', async () => {
    const templates = await newCaller()
    for (const before of ['x', 't', 't-', 'tzzzzzzzzzzz-a', 'e1-2'])
      expectRefusal(await templates.list({ before }), 400, 'invalid_request', ['query.before'])
    expectRefusal(
      await templates.list({ archived: 'yes', source: 'api', limit: 501, search: '', locales: 'de' }),
      400,
      'invalid_request',
      ['query.archived', 'query.source', 'query.limit', 'query.search', 'query.locales'],
    )
    expectRefusal(await server.call('GET', TEMPLATES, { tile: 'reports' }), 403, 'forbidden')
  })
})

describeEachStore('Get email template (get_template) and its versions (list_template_versions)', (kind) => {
  let server: TestServer
  let templates: TemplateCaller

  beforeAll(async () => {
    server = await startServer(kind)
    templates = new TemplateCaller(server, await server.makeWorkspace(ROOMY))
  })
  afterAll(() => server.stop())

  it('returns every version with exactly the content that was sent', async () => {
    const first = newTemplate({}, { email_content: '\ufeff<p>\r\n\tä𝔸 &amp;\u00a0{{ x }}</p>\n\n', subject: 'one' })
    const id = (await templates.create(first)).body.external_template_id
    const content = '<p>two</p> '
    await templates.update({ external_template_id: id, updated_by: 'ben', basic_details: { email_content: content } })
    await templates.archive(id)
    const latest = await templates.get(id)
    expect(latest.body).toMatchObject({ version: 2, latest_version: 2, updated_by: 'ben', template_source: 'API' })
    expect(latest.body.basic_details['email_content']).toBe(content)
    expect(latest.body).toHaveProperty('archived_at')
    const old = await templates.get(id, { version: 1 })
    expect(old.body).toMatchObject({ version: 1, latest_version: 2, ...first })
    expect(old.body.basic_details['email_content']).toBe(first.basic_details.email_content)
  })

  it('tells the default template of a group', async () => {
    const parent = await templates.add()
    const child = await templates.add({ group_id: parent })
    expect((await templates.get(parent)).body).toMatchObject({
      is_default_template_of_group: true,
      meta_info: { group_id: parent },
    })
    expect((await templates.get(child)).body).toMatchObject({ is_default_template_of_group: false })
  })

  it('answers 404 for unknown templates and versions, also those of other workspaces', async () => {
    const id = await templates.add()
    expectRefusal(await templates.get('unknown'), 404, 'not_found')
    expectRefusal(await templates.get(id, { version: 2 }), 404, 'not_found')
    expectRefusal(await templates.versions('unknown'), 404, 'not_found')
    const elsewhere = new TemplateCaller(server, await server.makeWorkspace(ROOMY))
    expectRefusal(await elsewhere.get(id), 404, 'not_found')
    expectRefusal(await elsewhere.versions(id), 404, 'not_found')
    expectRefusal(await templates.get(id, { version: 0 }), 400, 'invalid_request', ['query.version'])
  })

  it('lists versions newest first, with who made each and what it changed', async () => {
    server.setClock(minute(1))
    const attachments = [{ name: 'a', url: 'https://files.example.com/a' }]
    const id = await templates.add({ created_by: 'ann' }, { subject: 'one', attachments })
    const update = (body: object) => templates.update({ external_template_id: id, updated_by: 'ben', ...body })
    server.setClock(minute(2))
    await update({ basic_details: { subject: 'two', email_content: '<b>' }, meta_info: { locale: 'de' } })
    const same = [{ url: 'https://files.example.com/a', name: 'a' }]
    await update({ basic_details: { attachments: same }, meta_info: { locale: null } })
    await update({ basic_details: { attachments: [] } })
    server.setClock(undefined)
    const { body } = await templates.versions(id)
    expect(body.next_before).toBeNull()
    expect(body.data).toEqual([
      expect.objectContaining({ version: 4, changed: ['basic_details.attachments'] }),
      expect.objectContaining({ version: 3, changed: ['meta_info.locale'] }),
      {
        version: 2,
        updated_at: '2026-01-01T00:02:00.000Z',
        updated_by: 'ben',
        subject: 'two',
        changed: ['basic_details.subject', 'basic_details.email_content', 'meta_info.locale'],
      },
      { version: 1, updated_at: '2026-01-01T00:01:00.000Z', updated_by: 'ann', subject: 'one', changed: [] },
    ])
    const page = await templates.versions(id, { limit: 3 })
    expect(page.body.next_before).toBe(2)
    expect((await templates.versions(id, { limit: 3, before: 2 })).body.data.map(({ version }) => version)).toEqual([1])
  })

  it('forgets the versions of a deleted template', async () => {
    const id = await templates.add()
    await templates.delete(id)
    expectRefusal(await templates.versions(id), 404, 'not_found')
    const left = server.database.query.selectFrom('template_summaries').selectAll()
    expect(await left.where('external_template_id', '=', id).execute()).toEqual([])
  })
})

/** The only version of a template, changed a second after the one before. */
function latestOf(number: number) {
  const meta = {
    templateId: `id-${number}`,
    templateName: `Name ${number}`,
    templateVersion: '1',
    templateType: 'CUSTOM',
    createdBy: 'ann',
    groupId: null,
    locale: null,
    variation: null,
  } as const
  const details = { emailContent: '', subject: '', attachments: [], thumbnailUrl: '', senderName: '' }
  return firstVersion(`template-${number}`, { details, meta, source: 'API' }, number * 1_000)
}
