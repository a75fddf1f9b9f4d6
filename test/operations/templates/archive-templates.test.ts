// Archiving, restoring and deleting email templates through real HTTP, on every store.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newTemplate, ROOMY, TemplateCaller, TEMPLATES } from '../../support/calls/template-calls.ts'
import { expectRefusal, startServer, type Answer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const NOON = Date.parse('2026-05-10T12:00:00Z')

describeEachStore('Archived and deleted templates (archive_template, restore_template, delete_template)', (kind) => {
  let server: TestServer
  let workspace: TestWorkspace
  let templates: TemplateCaller

  beforeAll(async () => void (server = await startServer(kind, {}, { withPipeline: false })))
  beforeEach(async () => {
    server.setClock(NOON)
    workspace = await server.makeWorkspace(ROOMY)
    templates = new TemplateCaller(server, workspace)
  })
  afterAll(() => server.stop())

  const ids = async (body: Readonly<Record<string, unknown>> = {}) => {
    return (await templates.find(body)).map((item) => item.external_template_id)
  }
  const total = async (body: Readonly<Record<string, unknown>> = {}) => {
    return (await templates.search({ page: 1, entries: 1, is_count_required: true, ...body })).body.total_count
  }
  const named = (...wanted: string[]) => ({
    external_template_ids: wanted.map((external_template_id) => ({ external_template_id })),
  })
  const archive = async (id: string) => expect((await templates.archive(id)).status).toBe(204)
  const messageOf = (answer: Answer<unknown>) => (answer.body as { error: { message: string } }).error.message

  describe('searches', () => {
    it('find an archived template only with include_archived, and again once it is restored', async () => {
      const [current, archived] = [await templates.add(), await templates.add()]
      await archive(archived)
      expect([await ids(), await total()]).toEqual([[current], 1])
      expect([await ids({ include_archived: false }), await total({ include_archived: false })]).toEqual([[current], 1])
      expect(new Set(await ids({ include_archived: true }))).toEqual(new Set([current, archived]))
      expect(await total({ include_archived: true })).toBe(2)
      expect((await templates.restore(archived)).status).toBe(204)
      expect([(await ids()).length, await total()]).toEqual([2, 2])
    })

    it('find an archived template by external_template_ids alone, whether or not include_archived is sent', async () => {
      const id = await templates.add()
      await templates.change(id, { template_name: 'Second' })
      await archive(id)
      const old = { external_template_ids: [{ external_template_id: id, version: 1 }] }
      for (const more of [{}, { include_archived: false }, { include_archived: true }]) {
        expect(await ids({ ...named(id), ...more })).toEqual([id])
        expect(await templates.find({ ...old, ...more })).toMatchObject([
          { version: 1, archived_at: '2026-05-10T12:00:00.000Z' },
        ])
        expect(await total({ ...old, ...more })).toBe(1)
      }
    })

    const narrow: [filter: string, body: (id: string) => object][] = [
      ['external_template_ids and another', (id) => ({ ...named(id), template_version: '1.0' })],
      ['template_name', () => ({ template_name: 'Sought' })],
      ['template_version', () => ({ template_version: '1.0' })],
      ['a grouped response', (id) => ({ ...named(id), is_grouped_response: true })],
    ]
    it.each(narrow)('hide an archived template with the filter %s', async (_filter, body) => {
      const id = await templates.add({ template_name: 'Sought' })
      const wanted = { ...body(id) }
      expect([await ids(wanted), await total(wanted)]).toEqual([[id], 1])
      await archive(id)
      expect([await ids(wanted), await total(wanted)]).toEqual([[], 0])
      expect(await ids({ ...wanted, include_archived: true })).toEqual([id])
    })

    it('show archived_at only for archived templates: the first instant of archiving', async () => {
      const id = await templates.add()
      const before = await templates.latest(id)
      expect(before).not.toHaveProperty('archived_at')
      await archive(id)
      server.setClock(NOON + 1)
      await archive(id)
      expect(await templates.latest(id)).toEqual({ ...before, archived_at: '2026-05-10T12:00:00.000Z' })
      await templates.restore(id)
      expect((await templates.restore(id)).status).toBe(204)
      expect(await templates.latest(id)).toEqual(before)
    })

    it('count in a group what they show: its current templates, or with include_archived all', async () => {
      const parent = await templates.add({ locale: 'de', variation: 'A' })
      await templates.add({ group_id: parent, locale: 'en', variation: 'B' })
      const archived = await templates.add({ group_id: parent, locale: 'fr', variation: 'C' })
      await archive(archived)
      const countsOf = async (more: object) => {
        const [item] = await templates.find({ is_grouped_response: true, ...more })
        return [item?.unique_locale_count, item?.unique_variation_count, item?.total_templates_in_group]
      }
      expect(await countsOf({})).toEqual([2, 2, 2])
      expect(await countsOf({ include_archived: true })).toEqual([3, 3, 3])
      expect(await ids({ group_id: parent })).not.toContain(archived)
      expect(await ids({ group_id: parent, include_archived: true })).toContain(archived)
    })

    it('refuse an include_archived that is not true or false', async () => {
      const answer = await templates.search({ page: 1, entries: 1, include_archived: 'yes' })
      expectRefusal(answer, 400, 'invalid_request', ['include_archived'])
    })
  })

  describe('an archived template', () => {
    it('cannot be updated until it is restored', async () => {
      const id = await templates.add()
      await archive(id)
      const update = { external_template_id: id, updated_by: 'ben', basic_details: { subject: 'New' } }
      expectRefusal(await templates.update(update), 409, 'conflict', ['external_template_id'])
      await templates.restore(id)
      expect((await templates.update(update)).body).toMatchObject({ version: 2 })
    })

    it('keeps its template_id and template_version', async () => {
      const body = newTemplate()
      const { external_template_id: id } = (await templates.create(body)).body
      await archive(id)
      expectRefusal(await templates.create(body), 409, 'conflict', ['meta_info.template_id'])
    })

    it('cannot become the group of another', async () => {
      const [id, other] = [await templates.add(), await templates.add()]
      await archive(id)
      expectRefusal(await templates.create(newTemplate({ group_id: id })), 400, 'invalid_request', [
        'meta_info.group_id',
      ])
      const update = { external_template_id: other, updated_by: 'ben', meta_info: { group_id: id } }
      expectRefusal(await templates.update(update), 400, 'invalid_request', ['meta_info.group_id'])
    })
  })

  describe('the default template of a group', () => {
    it('can be archived only after all others of the group, and must be restored before them', async () => {
      const parent = await templates.add()
      const children = [await templates.add({ group_id: parent }), await templates.add({ group_id: parent })]
      const refused = await templates.archive(parent)
      expectRefusal(refused, 409, 'conflict')
      expect(messageOf(refused)).toBe(
        'The template is the default of a group with 2 templates that are not archived. Archive those first.',
      )
      await archive(children[0] as string)
      expect(messageOf(await templates.archive(parent))).toContain('with one template that is not archived')
      await archive(children[1] as string)
      await archive(parent)
      expect(await ids()).toEqual([])
      const child = await templates.restore(children[0] as string)
      expectRefusal(child, 409, 'conflict')
      expect(messageOf(child)).toContain(parent)
      expect((await templates.restore(parent)).status).toBe(204)
      expect((await templates.restore(children[0] as string)).status).toBe(204)
      expect(new Set(await ids())).toEqual(new Set([parent, children[0]]))
    })

    it('cannot be deleted while others, even archived ones, have it as their group_id', async () => {
      const parent = await templates.add()
      const children = [await templates.add({ group_id: parent }), await templates.add({ group_id: parent })]
      await archive(children[0] as string)
      const refused = await templates.delete(parent)
      expectRefusal(refused, 409, 'conflict')
      expect(messageOf(refused)).toBe(
        'The template is the group_id of 2 other templates. Delete those or change their group first.',
      )
      expect((await templates.delete(children[0] as string)).status).toBe(204)
      expect(messageOf(await templates.delete(parent))).toContain('of one other template')
      expect((await templates.delete(children[1] as string)).status).toBe(204)
      // The group ended with its last child.
      expect(await templates.latest(parent)).not.toHaveProperty('is_default_template_of_group')
      expect((await templates.delete(parent)).status).toBe(204)
    })
  })

  describe('deleting', () => {
    it('removes a template with all its versions, archived or not', async () => {
      for (const isArchived of [false, true]) {
        const id = await templates.add()
        await templates.change(id, { template_name: 'Second' })
        if (isArchived) await archive(id)
        expect((await templates.delete(id)).status).toBe(204)
        expect(await ids({ include_archived: true })).toEqual([])
        const versions = [1, 2].map((version) => ({ external_template_id: id, version }))
        expect(await templates.find({ external_template_ids: versions })).toEqual([])
        const stored = server.database.query.selectFrom('template_versions').selectAll()
        expect(await stored.where('external_template_id', '=', id).execute()).toEqual([])
      }
    })

    it('frees its template_id and template_version', async () => {
      const body = newTemplate()
      await templates.delete((await templates.create(body)).body.external_template_id)
      expect((await templates.create(body)).status).toBe(200)
    })
  })

  const actions = [
    ['archiving', 'PUT', '/archive'],
    ['restoring', 'PUT', '/restore'],
    ['deleting', 'DELETE', ''],
  ] as const
  it.each(actions)('%s an unknown, foreign or deleted template answers 404', async (_what, method, suffix) => {
    const others = new TemplateCaller(server, await server.makeWorkspace(ROOMY))
    const [theirs, deleted] = [await others.add(), await templates.add()]
    await templates.delete(deleted)
    for (const id of ['unknown', theirs, deleted]) {
      const answer = await server.call(method, `${TEMPLATES}/${id}${suffix}`, { as: workspace })
      expectRefusal(answer, 404, 'not_found')
    }
    expect(await others.latest(theirs)).not.toHaveProperty('archived_at')
  })

  it.each(actions)('%s requires the key of the tile data, and SVC-APPKEY', async (_what, method, suffix) => {
    const path = `${TEMPLATES}/${await templates.add()}${suffix}`
    expectRefusal(await server.call(method, path, { as: workspace, tile: 'reports' }), 403, 'forbidden')
    const nameless = await server.call(method, path, { as: workspace, headers: { 'svc-appkey': 'other' } })
    expectRefusal(nameless, 403, 'forbidden', ['header.SVC-APPKEY'])
  })
})
