// Creating and updating email templates through real HTTP, on every store.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectRefusal, startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { newTemplate, ROOMY, TemplateCaller, TEMPLATES } from '../../support/calls/template-calls.ts'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/
const KiB = 1024
/** Different characters of four bytes in UTF-8 and two units in UTF-16, which cannot be compressed. */
function wide(length: number): string {
  return String.fromCodePoint(...Array.from({ length }, (_item, index) => 0x20000 + ((index * 7919) % 40_000)))
}

describeEachStore('Create and update email templates (create_template, update_template)', (kind) => {
  let server: TestServer
  let workspace: TestWorkspace
  let templates: TemplateCaller

  beforeAll(async () => {
    server = await startServer(kind)
    workspace = await server.makeWorkspace(ROOMY)
    templates = new TemplateCaller(server, workspace)
  })
  afterAll(() => server.stop())

  const group = (id: string) => templates.find({ group_id: id })

  it('answers with the generated id of the template and version 1', async () => {
    const answer = await templates.create(newTemplate())
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ external_template_id: expect.stringMatching(UUID_V7) as string, version: 1 })
  })

  it('stores every field that was sent', async () => {
    const details = {
      email_content: '<h1>Grüße</h1>',
      subject: 'Welcome',
      attachments: [{ name: 'terms.pdf', url: 'https://files.example.com/terms.pdf' }],
      thumbnail_url: 'https://files.example.com/t.png',
      sender_name: 'The Team',
    }
    const meta = { template_id: 'all', template_type: 'PRE_BUILT', locale: 'de', variation: 'A' }
    const body = newTemplate(meta, details)
    const { external_template_id: id } = (await templates.create(body)).body
    const item = await templates.latest(id)
    expect(item.basic_details).toEqual(details)
    expect(item.meta_info).toEqual(body.meta_info)
  })

  it('uses defaults for fields that were not sent: CUSTOM, empty texts, no attachments', async () => {
    const item = await templates.latest(await templates.add())
    expect(item.meta_info['template_type']).toBe('CUSTOM')
    expect(item.basic_details).toEqual({
      email_content: '<p>Hello</p>',
      subject: 'Hello',
      attachments: [],
      thumbnail_url: '',
      sender_name: '',
    })
  })

  it('accepts every text at its maximum length, and refuses one character more', async () => {
    const lengths = {
      template_id: 256,
      template_name: 256,
      template_version: 64,
      created_by: 128,
      locale: 64,
      variation: 64,
    }
    const ofLength = (more: number) => {
      return Object.fromEntries(Object.entries(lengths).map(([name, length]) => [name, wide(length + more)]))
    }
    // The workspace id has its maximum length too: one index entry contains all of this.
    const longest = new TemplateCaller(server, await server.makeWorkspace(ROOMY, 'w'.repeat(64)))
    const id = await longest.add({ ...ofLength(0), group_id: await longest.add() }, { subject: wide(1_000) })
    await longest.change(id, {}, wide(128))
    expect(await longest.latest(id)).toMatchObject({ meta_info: ofLength(0), updated_by: wide(128) })
    const fields = Object.keys(lengths).map((name) => `meta_info.${name}`)
    const tooLong = await longest.create(newTemplate(ofLength(1), { subject: wide(1_001) }))
    expectRefusal(tooLong, 400, 'invalid_request', [...fields, 'basic_details.subject'])
  })

  it('accepts content of almost 1 MiB, and answers 413 to more', async () => {
    const id = await templates.add({}, { email_content: 'x'.repeat(1_000_000) })
    expect((await templates.latest(id)).basic_details['email_content']).toHaveLength(1_000_000)
    expectRefusal(
      await templates.create(newTemplate({}, { email_content: 'x'.repeat(1024 * KiB) })),
      413,
      'payload_too_large',
    )
  })

  const { basic_details: details, meta_info: meta } = newTemplate()
  const attachment = { name: 'a', url: 'https://files.example.com/a' }
  const refusals: [rule: string, body: unknown, fields: string[]][] = [
    ['a template without its two parts', {}, ['basic_details', 'meta_info']],
    [
      'a template without its identifying fields',
      { basic_details: {}, meta_info: {} },
      [
        'basic_details.email_content',
        'meta_info.template_id',
        'meta_info.template_name',
        'meta_info.template_version',
        'meta_info.created_by',
      ],
    ],
    [
      'unknown fields',
      { basic_details: details, meta_info: { ...meta, template_nam: 'x' }, x: 1 },
      ['meta_info.template_nam', 'x'],
    ],
    [
      'an unknown type',
      { basic_details: details, meta_info: { ...meta, template_type: 'custom' } },
      ['meta_info.template_type'],
    ],
    [
      'empty identifying fields',
      { basic_details: details, meta_info: { ...meta, template_id: '', group_id: '' } },
      ['meta_info.template_id', 'meta_info.group_id'],
    ],
    [
      'more than ten attachments',
      { basic_details: { ...details, attachments: Array.from({ length: 11 }, () => attachment) }, meta_info: meta },
      ['basic_details.attachments'],
    ],
    [
      'an attachment without its URL',
      { basic_details: { ...details, attachments: [{ name: 'a' }] }, meta_info: meta },
      ['basic_details.attachments[0].url'],
    ],
    ['NUL', { basic_details: { email_content: 'a\u0000' }, meta_info: meta }, ['basic_details.email_content']],
    [
      'a group_id that does not exist',
      { basic_details: details, meta_info: { ...meta, group_id: 'nobody' } },
      ['meta_info.group_id'],
    ],
  ]
  it.each(refusals)('refuses %s', async (_rule, body, fields) => {
    expectRefusal(await templates.create(body), 400, 'invalid_request', fields)
  })

  it('reports a group that a template cannot join together with all other faults', async () => {
    const parent = await templates.add()
    const child = await templates.add({ group_id: parent })
    for (const group of ['nobody', child]) {
      const meta_info = { template_name: '', group_id: group }
      const wrong = ['meta_info.template_name', 'meta_info.group_id']
      const body = { ...newTemplate(), meta_info: { ...newTemplate().meta_info, ...meta_info } }
      expectRefusal(await templates.create(body), 400, 'invalid_request', wrong)
      const change = { external_template_id: parent, updated_by: 'ben', meta_info }
      expectRefusal(await templates.update(change), 400, 'invalid_request', wrong)
    }
    const faultless = { external_template_id: child, updated_by: '', meta_info: { group_id: parent } }
    expectRefusal(await templates.update(faultless), 400, 'invalid_request', ['updated_by'])
    const unknown = { external_template_id: 'nobody', updated_by: '', meta_info: { group_id: 'nobody' } }
    expectRefusal(await templates.update(unknown), 400, 'invalid_request', ['updated_by', 'meta_info.group_id'])
  })

  it('requires the key of the tile data, and SVC-APPKEY', async () => {
    const body = newTemplate()
    const call = (options: object) => server.call('POST', TEMPLATES, { as: workspace, body, ...options })
    expectRefusal(await call({ tile: 'reports' }), 403, 'forbidden')
    expectRefusal(await call({ headers: { 'svc-appkey': undefined } }), 400, 'invalid_request', ['header.SVC-APPKEY'])
    expectRefusal(await call({ headers: { 'svc-appkey': 'main' } }), 403, 'forbidden', ['header.SVC-APPKEY'])
    expectRefusal(await call({ as: null }), 401, 'unauthorized')
  })

  it('answers 409 to a template_id whose template_version another template has', async () => {
    const [one, two] = [
      { template_id: 'pair', template_version: '1' },
      { template_id: 'pair', template_version: '2' },
    ]
    const first = await templates.add(one)
    const second = await templates.add(two)
    expectRefusal(await templates.create(newTemplate(one)), 409, 'conflict', ['meta_info.template_id'])
    const toFirst = { external_template_id: second, updated_by: 'x', meta_info: one }
    expectRefusal(await templates.update(toFirst), 409, 'conflict', ['meta_info.template_id'])
    expect((await templates.latest(second)).version).toBe(1)
    expect(await templates.change(first, one)).toBe(2)
    const elsewhere = new TemplateCaller(server, await server.makeWorkspace(ROOMY))
    expect((await elsewhere.create(newTemplate(one))).status).toBe(200)
  })

  it('allows a template_version again after its template changed to another', async () => {
    const meta = { template_id: 'moves', template_version: '1' }
    await templates.change(await templates.add(meta), { template_version: '2' })
    expect((await templates.create(newTemplate(meta))).status).toBe(200)
  })

  it('creates a new version with the members that are sent, and keeps the others', async () => {
    server.setClock(Date.parse('2025-01-01T00:00:00Z'))
    const id = await templates.add({ template_name: 'Before', locale: 'de' }, { sender_name: 'Team' })
    server.setClock(Date.parse('2025-01-02T00:00:00Z'))
    const before = await templates.latest(id)
    expect(before).toMatchObject({ updated_by: 'anna@example.com', updated_at: '2025-01-01T00:00:00.000Z' })
    const answer = await templates.update({
      external_template_id: id,
      updated_by: 'ben@example.com',
      basic_details: { subject: 'New' },
      meta_info: { template_name: 'After', locale: null },
    })
    server.setClock(undefined)
    expect(answer.body).toEqual({ external_template_id: id, version: 2 })
    const { locale, ...kept } = before.meta_info
    expect(locale).toBe('de')
    expect(await templates.latest(id)).toEqual({
      ...before,
      version: 2,
      updated_at: '2025-01-02T00:00:00.000Z',
      updated_by: 'ben@example.com',
      basic_details: { ...before.basic_details, subject: 'New' },
      meta_info: { ...kept, template_name: 'After' },
    })
    expect(await templates.find({ external_template_ids: [{ external_template_id: id, version: 1 }] })).toEqual([
      before,
    ])
  })

  it('answers 404 to an update of an unknown template, or of one of another workspace', async () => {
    const elsewhere = new TemplateCaller(server, await server.makeWorkspace(ROOMY))
    for (const id of ['nobody', await elsewhere.add()]) {
      const body = { external_template_id: id, updated_by: 'ben' }
      expectRefusal(await templates.update(body), 404, 'not_found', ['external_template_id'])
    }
  })

  it('refuses an update without its template or updater, or with unknown members', async () => {
    const body = { basic_details: { subjet: 'x' }, meta_info: { template_name: null } }
    expectRefusal(await templates.update(body), 400, 'invalid_request', [
      'external_template_id',
      'updated_by',
      'basic_details.subjet',
      'meta_info.template_name',
    ])
  })

  it('never gives two versions the same number or loses a change in concurrent updates', async () => {
    const id = await templates.add()
    const members = ['template_name', 'template_version', 'locale', 'variation', 'template_id', 'created_by']
    const versions = await Promise.all(members.map((member) => templates.change(id, { [member]: `new ${member}` })))
    expect(versions.toSorted((left, right) => left - right)).toEqual([2, 3, 4, 5, 6, 7])
    const item = await templates.latest(id)
    expect(item.version).toBe(7)
    for (const member of members) expect(item.meta_info[member]).toBe(`new ${member}`)
  })

  it('accepts only one of concurrent requests with the same template_id and template_version', async () => {
    const body = newTemplate()
    const answers = await Promise.all(Array.from({ length: 5 }, () => templates.create(body)))
    expect(answers.map(({ status }) => status).toSorted((left, right) => left - right)).toEqual([
      200, 409, 409, 409, 409,
    ])
  })

  it('makes a template the default of a group when another names its id as group_id', async () => {
    const parent = await templates.add()
    expect(await templates.latest(parent)).not.toHaveProperty('is_default_template_of_group')
    const child = await templates.add({ group_id: parent, locale: 'de', variation: 'B' })
    const items = await group(parent)
    expect(new Map(items.map((item) => [item.external_template_id, item.is_default_template_of_group]))).toEqual(
      new Map([
        [parent, true],
        [child, false],
      ]),
    )
    expect(items.map((item) => item.meta_info['group_id'])).toEqual([parent, parent])
    expect((await templates.latest(child)).meta_info).toMatchObject({ group_id: parent, locale: 'de', variation: 'B' })
    expect((await templates.latest(parent)).version).toBe(1)
  })

  it('keeps the default template of a group as the default when an update changes other members', async () => {
    const parent = await templates.add()
    await templates.add({ group_id: parent })
    const { meta_info: shown } = await templates.latest(parent)
    await templates.change(parent, { template_name: 'Renamed' })
    await templates.change(parent, shown)
    expect(await templates.latest(parent)).toMatchObject({ version: 3, is_default_template_of_group: true })
    expect(await group(parent)).toHaveLength(2)
  })

  it('refuses a group_id that names a template in the group of another, or the template itself', async () => {
    const parent = await templates.add()
    const child = await templates.add({ group_id: parent })
    const single = await templates.add()
    expectRefusal(await templates.create(newTemplate({ group_id: child })), 400, 'invalid_request', [
      'meta_info.group_id',
    ])
    const attempts: [id: string, groupId: string | null][] = [
      [single, child],
      [single, single],
      [single, 'nobody'],
      [child, child],
      // The default template must stay in its group, because others name it.
      [parent, single],
      [parent, null],
    ]
    for (const [id, groupId] of attempts) {
      const body = { external_template_id: id, updated_by: 'ben', meta_info: { group_id: groupId } }
      expectRefusal(await templates.update(body), 400, 'invalid_request', ['meta_info.group_id'])
    }
    expect(await group(parent)).toHaveLength(2)
  })

  it('refuses a group_id of another workspace', async () => {
    const elsewhere = new TemplateCaller(server, await server.makeWorkspace(ROOMY))
    const body = newTemplate({ group_id: await elsewhere.add() })
    expectRefusal(await templates.create(body), 400, 'invalid_request', ['meta_info.group_id'])
  })

  it('moves a template from one group to another, and ends a group when its last child leaves', async () => {
    const [left, joined] = [await templates.add(), await templates.add()]
    const child = await templates.add({ group_id: left })
    await templates.change(child, { group_id: joined })
    expect((await group(joined)).map((item) => item.external_template_id).toSorted()).toEqual(
      [joined, child].toSorted(),
    )
    expect(await group(left)).toEqual([])
    expect(await templates.latest(left)).not.toHaveProperty('is_default_template_of_group')
    await templates.change(child, { group_id: null })
    expect(await group(joined)).toEqual([])
    expect((await templates.latest(child)).meta_info).not.toHaveProperty('group_id')
    // A parent whose group has ended may join another.
    await templates.change(left, { group_id: joined })
    expect(await group(joined)).toHaveLength(2)
  })

  it('keeps a group when one child of several leaves', async () => {
    const parent = await templates.add()
    const children = [await templates.add({ group_id: parent }), await templates.add({ group_id: parent })]
    await templates.change(children[0] as string, { group_id: null })
    expect((await group(parent)).map((item) => item.external_template_id).toSorted()).toEqual(
      [parent, children[1] as string].toSorted(),
    )
  })

  describe('if_version', () => {
    const update = (id: string, more: object) => {
      return templates.update({ external_template_id: id, updated_by: 'ben', meta_info: { locale: 'de' }, ...more })
    }

    it('lets an update of the current version pass', async () => {
      const id = await templates.add()
      expect((await update(id, { if_version: 1 })).body).toEqual({ external_template_id: id, version: 2 })
      expect((await update(id, {})).body.version).toBe(3)
    })

    it('refuses the update of another version, and names the current one and who made it', async () => {
      const id = await templates.add()
      await templates.change(id, {}, 'cleo')
      const refused = await update(id, { if_version: 1 })
      expectRefusal(refused, 409, 'conflict', ['if_version'])
      const details = [{ field: 'if_version', problem: 'must be 2, the current version' }]
      const message = expect.stringMatching(/version 2 by cleo, saved at /) as string
      expect(refused.body).toMatchObject({ error: { message, details } })
      expect(await templates.latest(id)).toMatchObject({ version: 2, updated_by: 'cleo' })
    })

    it('lets one of several updates of the same version pass', async () => {
      const id = await templates.add()
      const answers = await Promise.all(Array.from({ length: 5 }, () => update(id, { if_version: 1 })))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(4)
      expect((await templates.latest(id)).version).toBe(2)
    })

    it('must be a version', async () => {
      expectRefusal(await update(await templates.add(), { if_version: 0 }), 400, 'invalid_request', ['if_version'])
    })
  })
})
