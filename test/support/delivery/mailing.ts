// A campaign that a test sends: people, a sender that leads to a mail sink, a template and a campaign, all made over HTTP.
import { expect } from 'vitest'
import type { MailSink } from '../mail-sink/mail-sink.ts'
import { until, type TestServer, type TestWorkspace } from '../server.ts'

export interface MailingServer extends Pick<TestServer, 'call'> {
  readonly workspace: TestWorkspace
}

/** What a test wants otherwise than usual. */
export interface Mailing {
  readonly delivery?: Readonly<Record<string, unknown>>
  readonly template?: Readonly<Record<string, unknown>>
  readonly sender?: Readonly<Record<string, unknown>>
}

const REPORTS = { tile: 'reports' } as const

/** Imports people, opted in unless they say otherwise (null: never asked), and waits until they are applied. */
export async function addPeople(
  server: MailingServer,
  people: readonly { readonly customer_id: string; readonly email?: string; readonly [column: string]: unknown }[],
): Promise<void> {
  const { id } = server.workspace
  const rows = people.map((person) => JSON.stringify(toRow(person)))
  const { status, body } = await server.call<{ import_id: string; refused: number }>(
    'POST',
    `/v1/customer/${id}/import`,
    {
      body: rows.join('\n'),
      headers: { 'content-type': 'application/x-ndjson' },
    },
  )
  expect({ status, refused: body.refused }).toEqual({ status: 200, refused: 0 })
  await until('the import is complete', async () => {
    const found = await server.call<{ status: string }>('GET', `/v1/customer/${id}/import/${body.import_id}`)
    return found.body.status === 'complete'
  })
}

function toRow(person: Readonly<Record<string, unknown>>) {
  const { customer_id, opt_in_status = 'OPTED_IN', ...attributes } = person
  return { customer_id, ...(opt_in_status !== null && { opt_in_status }), attributes }
}

/** A sender that leads to the sink; its id. */
export async function addSender(
  server: MailingServer,
  sink: Pick<MailSink, 'host' | 'port'>,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const body = {
    name: 'Shop',
    from_email: 'news@shop.example',
    from_name: 'The shop',
    smtp: { host: sink.host, port: sink.port, security: 'none' },
    limits: { per_second: 10_000 },
    ...changes,
  }
  const made = await server.call<{ sender_id: string }>('POST', '/core-services/v1/senders', { ...REPORTS, body })
  expect(made).toMatchObject({ status: 201 })
  return made.body.sender_id
}

/** A template; its id. */
export async function addTemplate(
  server: MailingServer,
  details: Readonly<Record<string, unknown>> = {},
  meta: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const count = ++templates
  const body = {
    basic_details: {
      email_content: '<html><body><p>Hello {{ first_name | default: "you" }}</p></body></html>',
      subject: 'News',
      ...details,
    },
    meta_info: {
      template_id: `template-${count}`,
      template_name: `Template ${count}`,
      template_version: '1',
      created_by: 'anna@shop.example',
      ...meta,
    },
  }
  const made = await server.call<{ external_template_id: string }>('POST', '/v1.0/custom-templates/email', { body })
  expect(made).toMatchObject({ status: 200 })
  return made.body.external_template_id
}
let templates = 0

/** A draft campaign to everybody; its id. */
export async function addMailing(server: MailingServer, sink: MailSink, mailing: Mailing = {}): Promise<string> {
  const senderId = mailing.delivery?.['sender_id'] ?? (await addSender(server, sink, mailing.sender))
  const templateId = await addTemplate(server, mailing.template)
  const body = {
    name: 'Spring news',
    platforms: ['EMAIL'],
    conversion_goals: [],
    created_by: 'anna@shop.example',
    delivery: {
      sender_id: senderId,
      audience: { include: [{ attribute: 'email', operator: 'exists' }] },
      variations: [{ name: 'A', share: 100, external_template_id: templateId }],
      ...mailing.delivery,
    },
  }
  const made = await server.call<{ campaign_id: string }>('POST', '/core-services/v1/campaigns', { ...REPORTS, body })
  expect(made).toMatchObject({ status: 201 })
  return made.body.campaign_id
}

export type MailingVerb = 'start' | 'pause' | 'resume' | 'cancel'

export async function changeMailing(server: MailingServer, campaignId: string, verb: MailingVerb): Promise<void> {
  const answer = await server.call('PUT', `/core-services/v1/campaigns/${campaignId}/${verb}`, REPORTS)
  expect(answer).toMatchObject({ status: 204 })
}

export interface ShownRun {
  readonly state: string
  readonly evaluated_at: string
  readonly audience: number
  readonly without_address: number
  readonly states: Readonly<Record<string, number>>
  readonly waiting?: { readonly since: string; readonly reason: string; readonly reply?: string }
  readonly paused?: { readonly since: string; readonly reason: string; readonly reply?: string }
}

/** The run of a campaign; undefined while it has none. */
export async function readRun(server: MailingServer, campaignId: string): Promise<ShownRun | undefined> {
  const path = `/core-services/v1/campaigns/${campaignId}/runs`
  const { body } = await server.call<{ data: readonly ShownRun[] }>('GET', path, REPORTS)
  return body.data[0]
}

/** Waits until the run is over; returns it. */
export function untilFinished(server: MailingServer, campaignId: string, deadlineMs?: number): Promise<ShownRun> {
  const ask = async () => {
    const run = await readRun(server, campaignId)
    return run?.state === 'finished' || run?.state === 'cancelled' ? run : undefined
  }
  return until('the run is over', ask, deadlineMs)
}

export interface ShownMessage {
  readonly message_id: string
  readonly customer_id: string
  readonly group: string
  readonly state: string
  readonly reason: string | null
  readonly variation: string | null
  readonly locale: string | null
  readonly attempts: readonly {
    readonly at: string
    readonly code: number | null
    readonly enhanced_code: string | null
    readonly text: string
    readonly host: string
  }[]
  readonly coupons: Readonly<Record<string, string>>
  readonly sent_at: string | null
  readonly next_at?: string
  readonly impressions: number
}

/** All messages of a campaign, which has at most 500. */
export async function readMessages(server: MailingServer, campaignId: string): Promise<readonly ShownMessage[]> {
  const path = `/core-services/v1/campaigns/${campaignId}/messages?limit=500`
  const { body } = await server.call<{ data: readonly ShownMessage[] }>('GET', path, REPORTS)
  return body.data
}
