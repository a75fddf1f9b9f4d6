// What must hold of a campaign that was sent, whatever happened meanwhile: everybody is accounted for, nobody was sent to twice, and
// the numbers agree with what the SMTP server took.
import { expect } from 'vitest'
import { runJson, type Environment } from '../program.ts'
import type { MailSink } from '../mail-sink/mail-sink.ts'
import { readRun, type MailingServer, type ShownMessage, type ShownRun } from './mailing.ts'

const REPORTS = { tile: 'reports' } as const
const PAGE = 500
const DAY_MS = 24 * 3_600_000

/** People whose addresses name them. */
export function numberedPeople(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    customer_id: `customer-${index}`,
    email: `customer-${index}@example.com`,
    first_name: `Person ${index}`,
  }))
}

/** The run as it is now; its states must add up to the audience once that is decided. */
export async function lookAtRun(server: MailingServer, campaignId: string, people: number): Promise<ShownRun> {
  const run = (await readRun(server, campaignId)) as ShownRun
  const sum = Object.values(run.states).reduce((total, count) => total + count, 0)
  expect(run).toMatchObject({ audience: sum })
  expect(sum).toBeLessThanOrEqual(people)
  return run
}

export interface Accounts {
  readonly messages: readonly ShownMessage[]
  readonly sent: number
  readonly inDoubt: number
}

/**
 * Expects that a finished run of `numberedPeople` left nobody out and sent to nobody twice: who was sent to is in the sink, and who is in the
 * sink was sent to or is in doubt.
 */
export async function expectAccounted(
  server: MailingServer,
  campaignId: string,
  { sink, people }: { readonly sink: MailSink; readonly people: number },
): Promise<Accounts> {
  const messages = await readAllMessages(server, campaignId)
  const taken = sink.mails.list().flatMap(({ to }) => to.map((address) => address.split('@')[0] as string))
  expect(sink.mails.count).toBe(taken.length)
  const twice = taken.filter((customer, index) => taken.indexOf(customer) !== index)
  expect(twice, 'sent to twice').toEqual([])
  const namesIn = (...states: readonly string[]) =>
    new Set(messages.filter(({ state }) => states.includes(state)).map((message) => message.customer_id))
  const inSink = new Set(taken)
  const sent = namesIn('sent')
  const doubtful = namesIn('in_doubt')
  expect(
    [...sent].filter((customer) => !inSink.has(customer)),
    'sent, and not in the sink',
  ).toEqual([])
  const unknown = taken.filter((customer) => !sent.has(customer) && !doubtful.has(customer))
  expect(unknown, 'in the sink, and neither sent nor in doubt').toEqual([])
  const over = namesIn('sent', 'in_doubt', 'failed', 'removed', 'control')
  expect({ messages: messages.length, over: over.size }).toEqual({ messages: people, over: people })
  return { messages, sent: sent.size, inDoubt: doubtful.size }
}

/** Expects that Fetch Campaign Stats counts so much. */
export async function expectCounted(
  server: MailingServer,
  campaignId: string,
  counts: Readonly<Record<string, number>>,
): Promise<void> {
  const dayAt = (time: number) => new Date(time).toISOString().slice(0, 10)
  const body = {
    request_id: 'accounts',
    start_date: dayAt(Date.now() - DAY_MS),
    end_date: dayAt(Date.now() + DAY_MS),
    attribution_type: 'CLICK_THROUGH',
    metric_type: 'TOTAL',
    campaign_ids: [campaignId],
  }
  const answer = await server.call('POST', '/core-services/v1/campaign-stats', { ...REPORTS, body })
  const everything = { all_variations: { performance_stats: counts } }
  const locales = { all_locales: { variations: everything } }
  expect(answer).toMatchObject({
    status: 200,
    body: { data: { [campaignId]: [{ platforms: { EMAIL: { locales } } }] } },
  })
}

export async function expectVerified(environment: Environment): Promise<void> {
  const verified = await runJson(['statistics', 'verify'], environment)
  expect(verified).toMatchObject({ status: 0, body: { equal: true } })
}

async function readAllMessages(server: MailingServer, campaignId: string): Promise<ShownMessage[]> {
  const messages: ShownMessage[] = []
  const path = `/core-services/v1/campaigns/${campaignId}/messages?limit=${PAGE}`
  let next = path
  for (;;) {
    const { body } = await server.call<MessagePage>('GET', next, REPORTS)
    messages.push(...body.data)
    if (body.next_before === null) return messages
    next = `${path}&before=${encodeURIComponent(body.next_before)}`
  }
}

interface MessagePage {
  readonly data: readonly ShownMessage[]
  readonly next_before: string | null
}
