// What entries of the audit trail say, and what they must not, through real HTTP, on every store.
import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { AuditEntry } from '../../../src/core/accounts/audit.ts'
import { entriesAddedBy, entriesOf } from '../../support/audit/audit-entries.ts'
import { CAMPAIGNS_PATH, campaignCallsOf, type CampaignCalls } from '../../support/calls/campaign-calls.ts'
import { codesOf, couponCallsOf, couponsPath, toCsv, type CouponCalls } from '../../support/calls/coupon-calls.ts'
import { segmentCallsOf } from '../../support/calls/segment-calls.ts'
import { makeDkimKey, SENDER, senderCallsOf } from '../../support/calls/sender-calls.ts'
import { newTemplate, TemplateCaller } from '../../support/calls/template-calls.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import { deliveryCallsOf } from '../../support/delivery/delivery-calls.ts'
import { startServer, until, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { withDoubt } from './change-requests.ts'

const SUPPRESSIONS = '/core-services/v1/suppressions'
/** More than one transaction of an upload. */
const MANY_CODES = 60_000

describeEachStore('An entry of the audit trail', (kind) => {
  let server: TestServer
  let campaigns: CampaignCalls
  let coupons: CouponCalls
  let templates: TemplateCaller

  beforeAll(async () => {
    const keys = { PII_KEY: randomBytes(32).toString('base64'), SECRET_KEY: randomBytes(32).toString('base64') }
    server = await startServer(kind, keys, { withDelivery: false })
    campaigns = campaignCallsOf(server)
    coupons = couponCallsOf(server)
    templates = new TemplateCaller(server, server.workspace)
  })
  afterAll(() => server.stop())

  const added = (work: () => Promise<unknown>) => entriesAddedBy(server.database, server.workspace.id, work)
  const changesOf = ([entry, ...others]: readonly AuditEntry[]) => {
    expect(others).toEqual([])
    return Object.fromEntries((entry?.changes ?? []).map(({ field, before, after }) => [field, [before, after]]))
  }

  it('names the fields that differ, with long texts as length and hash', async () => {
    const html = `<p>${'ü'.repeat(300)}</p>`
    const id = await templates.add({ template_name: 'Welcome' }, { email_content: '<p>Hello</p>' })
    const details = { email_content: html, attachments: [{ name: 'a.pdf', url: 'https://files.example.com/a.pdf' }] }
    const body = { external_template_id: id, updated_by: 'ben', basic_details: details }
    const entries = await added(() => templates.update(body))
    expect(entries[0]).toMatchObject({ kind: 'template', subjectId: id, subjectName: 'Welcome' })
    expect(changesOf(entries)).toEqual({
      version: [1, 2],
      updated_by: ['anna@example.com', 'ben'],
      'basic_details.email_content': [
        '<p>Hello</p>',
        { length: Buffer.byteLength(html), sha256: createHash('sha256').update(html).digest('hex') },
      ],
      'basic_details.attachments[0].name': [null, 'a.pdf'],
      'basic_details.attachments[0].url': [null, 'https://files.example.com/a.pdf'],
    })
  })

  it('names goals and settings of delivery by their paths, with every digit', async () => {
    const calls = deliveryCallsOf(server)
    const delivery = await calls.deliveryOf()
    const goal = { name: 'Order', event: 'Order Placed', window_hours: 24 }
    const id = await campaigns.make({ name: 'Summer', conversion_goals: [goal], delivery })
    const value = JSON.parse('{"value":12345678901234567890}', (_key, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' ? JSON.rawJSON(context?.source ?? '') : value,
    ) as { readonly value: unknown }
    const where = [{ attribute: 'amount', operator: 'greater_than', ...value }]
    const body = { conversion_goals: [{ ...goal, where }], delivery: { ...delivery, consent: 'transactional' } }
    const entries = await added(() => campaigns.patch(id, JSON.stringify(body)))
    expect(changesOf(entries)).toMatchObject({
      'conversion_goals[0].where[0].attribute': [null, 'amount'],
      'conversion_goals[0].where[0].operator': [null, 'greater_than'],
      'delivery.consent': ['opted_in', 'transactional'],
    })
    expect(JSON.stringify(entries)).toContain('12345678901234567890')
    expect(entries[0]?.changes).toHaveLength(4)
  })

  it('says what a start sends, and from which state to which a campaign goes', async () => {
    const calls = deliveryCallsOf(server)
    const template = await calls.addTemplate()
    await templates.change(template)
    const variations = [{ name: 'A', share: 100, external_template_id: template }]
    const id = await calls.makeDelivered({ variations })
    expect(changesOf(await added(() => calls.put(id, 'start')))).toEqual({
      state: ['draft', 'running'],
      'variations[0].name': [null, 'A'],
      'variations[0].external_template_id': [null, template],
      'variations[0].version': [null, 2],
    })
    expect(changesOf(await added(() => calls.put(id, 'pause')))).toEqual({ state: ['running', 'paused'] })
    expect(changesOf(await added(() => calls.put(id, 'resume')))).toEqual({ state: ['paused', 'running'] })
    expect(changesOf(await added(() => calls.put(id, 'cancel')))).toEqual({ state: ['running', 'cancelled'] })
    const later = await calls.makeDelivered({ start_at: '2199-05-11T12:00:00.000Z' })
    expect(changesOf(await added(() => calls.put(later, 'start')))).toMatchObject({
      state: ['draft', 'scheduled'],
      starts_at: [null, '2199-05-11T12:00:00.000Z'],
    })
  })

  it('tells that secrets of a sender were set and replaced, and has none of them', async () => {
    const senders = senderCallsOf(server)
    const [first, second] = ['correct horse', 'battery staple']
    const [key, other] = [makeDkimKey(), makeDkimKey()]
    const smtp = { ...SENDER.smtp, username: 'news', password: first }
    const dkim = { domain: 'shop.example.com', selector: 's1', private_key: key }
    const made = await added(() => senders.create({ ...SENDER, name: 'Secret', smtp, dkim }))
    expect(changesOf(made)).toMatchObject({
      'smtp.has_password': [null, true],
      'dkim.has_private_key': [null, true],
    })
    const id = made[0]?.subjectId ?? ''
    const replaced = await added(() => senders.change(id, { smtp: { password: second }, dkim: { private_key: other } }))
    expect(changesOf(replaced)).toEqual({ 'smtp.password': [null, null], 'dkim.private_key': [null, null] })
    const removed = await added(() => senders.change(id, { smtp: { password: null } }))
    expect(changesOf(removed)).toEqual({ 'smtp.has_password': [true, false] })
    const all = JSON.stringify(await entriesOf(server.database, server.workspace.id))
    const texts = [first, second, ...[key, other].flatMap((pem) => pem.split('\n').slice(1, -2)), 'PRIVATE']
    for (const text of [...texts, server.workspace.dataKey, server.workspace.reportsKey])
      expect(all).not.toContain(text)
  })

  it('names a suppression so that only those who know the address find it', async () => {
    const email = 'Quiet@Example.com'
    const path = `${SUPPRESSIONS}?email=${encodeURIComponent(email)}`
    const add = (reason: string) => {
      const body = { email, reason, evidence: 'Ms. Quiet asked by phone.' }
      return added(() => server.call('POST', SUPPRESSIONS, { tile: 'reports', body }))
    }
    const [suppressed, again, stronger] = [await add('manual'), await add('manual'), await add('complaint')]
    const lifted = await added(() => server.call('DELETE', path, { tile: 'reports' }))
    expect([suppressed, stronger, lifted].map(changesOf)).toEqual([
      { reason: [null, 'manual'] },
      { reason: ['manual', 'complaint'] },
      { reason: ['complaint', null] },
    ])
    expect(again).toEqual([])
    const subjects = [...suppressed, ...stronger, ...lifted].map(({ subjectId }) => subjectId)
    expect(new Set(subjects).size).toBe(1)
    const all = JSON.stringify(await entriesOf(server.database, server.workspace.id)).toLowerCase()
    const hashes = ['quiet@example.com', email].map((text) => createHash('sha256').update(text).digest('hex'))
    for (const text of ['quiet', ...hashes]) expect(all).not.toContain(text)
  })

  it('has nothing of an erased person', async () => {
    const person = { customer_id: 'nora-77', email: 'nora@example.com' }
    const attributes = { email: person.email, first_name: 'Nora' }
    await trackingOf(server).apply({ type: 'customer', customer_id: person.customer_id, attributes })
    await server.call('POST', SUPPRESSIONS, { tile: 'reports', body: { email: person.email } })
    const segments = segmentCallsOf(server)
    const segment = await segments.make({ attribute: 'email', operator: 'is', value: person.email })
    await segments.patch(segment, { where: { attribute: 'email', operator: 'is_one_of', value: [person.email] } })
    await segments.delete(segment)
    const path = `/v1/customer/${server.workspace.id}?email=${person.email}`
    const erasures: { readonly erasure_id: string }[] = []
    const entries = await added(async () => {
      erasures.push((await server.call<{ erasure_id: string }>('DELETE', path)).body)
    })
    expect(entries).toMatchObject([{ kind: 'erasure', subjectId: erasures[0]?.erasure_id, subjectName: null }])
    const all = JSON.stringify(await entriesOf(server.database, server.workspace.id)).toLowerCase()
    for (const text of ['nora', 'nora-77', createHash('sha256').update(person.email).digest('hex')]) {
      expect(all).not.toContain(text)
    }
  })

  it('counts the codes of an upload and of its withdrawal, each transaction for itself, and has no code', async () => {
    const id = await coupons.make({ name: 'Many', label: 'many' })
    expect(await added(() => coupons.addCsv(id, 'A1\nB 2,C3\n'))).toEqual([])
    const uploads: (string | null)[] = []
    const entries = await added(async () => {
      uploads.push((await coupons.addCsv(id, toCsv(codesOf('AUDIT', MANY_CODES)))).body.upload)
    })
    const [upload] = uploads
    expect(changesOf(entries)).toEqual({ total_coupons: [0, MANY_CODES], upload: [null, upload] })
    expect(entries[0]).toMatchObject({ kind: 'coupon_list', subjectId: id, subjectName: 'Many' })
    const withdrawn = await added(() => coupons.call('DELETE', couponsPath(id), { body: { upload } }))
    const totals = withdrawn.map(({ changes }) => changes.find(({ field }) => field === 'total_coupons'))
    expect(totals.map((change) => change?.before)).toEqual([
      MANY_CODES,
      ...totals.map((change) => change?.after).slice(0, -1),
    ])
    expect(totals.at(-1)?.after).toBe(0)
    expect(new Set(withdrawn.map(({ requestId }) => requestId)).size).toBe(1)
    expect(JSON.stringify([entries, withdrawn])).not.toContain('AUDIT-')
  }, 60_000)

  it('says what becomes of messages in doubt that are given up', async () => {
    const { id, path } = await withDoubt(server)
    const inDoubt = `${CAMPAIGNS_PATH}/${id}/messages?state=in_doubt`
    const giveUp = () => server.call('POST', path, { tile: 'reports', body: { action: 'give_up' } })
    expect(changesOf(await added(giveUp))).toEqual({ in_doubt: [null, 'give_up'], messages: [null, 2] })
    // The operation waits for the pipeline, but not for ever.
    await until('they are given up', async () => {
      const { body } = await server.call<{ data: unknown[] }>('GET', inDoubt, { tile: 'reports' })
      return body.data.length === 0
    })
    expect(await added(giveUp)).toEqual([])
  })

  it('is not written for what is refused, and for what changes nothing', async () => {
    const template = await templates.add()
    await templates.archive(template)
    await coupons.make({ name: 'Taken', label: 'taken' })
    const list = await coupons.make({ name: 'Free', label: 'free' })
    const campaign = await campaigns.make({ name: 'Same' })
    const entries = await added(async () => {
      expect((await templates.update({ external_template_id: template, updated_by: 'ben' })).status).toBe(409)
      expect((await coupons.create({ name: 'Taken', label: 'other' })).status).toBe(409)
      expect((await coupons.call('PATCH', `/v1/coupon-list/${list}`, { body: { name: 'Taken' } })).status).toBe(409)
      expect((await templates.create({ ...newTemplate(), extra: 1 })).status).toBe(400)
      expect((await campaigns.patch(campaign, { name: 'Same' })).status).toBe(200)
      expect((await coupons.call('PATCH', `/v1/coupon-list/${list}`, { body: { name: 'Free' } })).status).toBe(200)
      expect((await campaigns.restore(campaign)).status).toBe(204)
    })
    expect(entries).toEqual([])
  })

  it('has its own number, without gaps, when many change at once', async () => {
    const work = Array.from({ length: 12 }, (_, index) => [
      campaigns.make({ name: `Once ${index}` }),
      templates.add(),
      segmentCallsOf(server).make({ attribute: 'plan', operator: 'exists' }),
      senderCallsOf(server).create({ ...SENDER, name: `Once ${index}` }),
      server.call('POST', SUPPRESSIONS, { tile: 'reports', body: { email: `once-${index}@example.com` } }),
    ]).flat()
    const entries = await added(() => Promise.all(work))
    expect(entries).toHaveLength(60)
    const first = entries[0]?.number ?? 0
    expect(entries.map(({ number }) => number)).toEqual(entries.map((_, index) => first + index))
  })
})
