// Reports one send to a server, in a process of its own: reads its plan from the command line and prints the times of the
// acknowledgements as JSON. The people are those of `bulk-load.ts` in shuffled order, and new ones if there are not enough. Each is
// in the audience of one campaign; after the audiences, message events follow kind by kind.
import { Agent, request } from 'node:http'
import type { MessageKind } from '../src/core/campaigns/facts.ts'
import { CAMPAIGNS, customerIdOf, randomFrom } from './population.ts'

/** The plan, which the process gets as JSON. */
export interface ReportPlan {
  /** The URL of the server. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** In the order of their numbers. */
  readonly campaignIds: readonly string[]
  /** The number of people in the store. */
  readonly people: number
  /** Counts from 0. Each send is an hour after the previous one, in other campaigns and, if there are enough, to other people. */
  readonly send: number
  /** Either the audiences or all message events after them. */
  readonly what: 'audiences' | 'message-events'
}

export interface ReportResult {
  readonly items: number
  /** Milliseconds since the epoch. */
  readonly firstAcknowledgedAt: number
  readonly lastAcknowledgedAt: number
}

/** The people of a send, and so the message events of each kind. */
const PEOPLE = 50_000
const ITEMS_PER_REQUEST = 1_000
const CONNECTIONS = 4
const KINDS: readonly MessageKind[] = ['attempted', 'sent', 'delivered', 'impression']
const FIRST_EVALUATED_AT = Date.parse('2026-05-31T08:00:00Z')
const MINUTE_MS = 60 * 1000
const HOUR_MS = 60 * MINUTE_MS

const plan = JSON.parse(process.argv[2] ?? '{}') as ReportPlan
const evaluatedAt = FIRST_EVALUATED_AT + plan.send * HOUR_MS
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
const waiting = plan.what === 'audiences' ? toReports(toMember, 'audience', 'members') : KINDS.flatMap(reportsOf)
const reports = waiting.values()
const acknowledged: number[] = []
await Promise.all(
  Array.from({ length: CONNECTIONS }, async () => {
    for (const report of reports) {
      await send(report)
      acknowledged.push(Date.now())
    }
  }),
)
agent.destroy()
const result: ReportResult = {
  items: acknowledged.length * ITEMS_PER_REQUEST,
  firstAcknowledgedAt: Math.min(...acknowledged),
  lastAcknowledgedAt: Math.max(...acknowledged),
}
process.stdout.write(JSON.stringify(result))

interface Report {
  readonly path: string
  readonly body: string
}

function reportsOf(kind: MessageKind, index: number): Report[] {
  return toReports((person) => toEvent(person, kind, index), 'message-events', 'events')
}

/** A report for each thousand people, serialised before the first is sent. */
function toReports(toItem: (person: number) => object, path: string, list: string): Report[] {
  const people = pickPeople()
  return Array.from({ length: PEOPLE / ITEMS_PER_REQUEST }, (_, index) => {
    const items = people.slice(index * ITEMS_PER_REQUEST, (index + 1) * ITEMS_PER_REQUEST).map(toItem)
    const campaignId = plan.campaignIds[(index + plan.send) % CAMPAIGNS]
    return { path: `/core-services/v1/campaigns/${campaignId}/${path}`, body: JSON.stringify({ [list]: items }) }
  })
}

/** People spread over the store, shuffled (Fisher-Yates) in the same order in every process of a send. */
function pickPeople(): number[] {
  const step = Math.max(1, Math.floor(plan.people / PEOPLE))
  const people = Array.from({ length: PEOPLE }, (_, index) => index * step + (plan.send % step))
  const random = randomFrom(0)
  for (let last = people.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    const moved = people[last] as number
    people[last] = people[other] as number
    people[other] = moved
  }
  return people
}

function toMember(person: number): object {
  const evaluated_at = new Date(evaluatedAt).toISOString()
  return { customer_id: customerIdOf(person), platform: platformOf(person), variation: 'A', locale: 'de', evaluated_at }
}

function toEvent(person: number, kind: MessageKind, index: number): object {
  const customer_id = customerIdOf(person)
  const time = new Date(evaluatedAt + index * MINUTE_MS + (person % MINUTE_MS)).toISOString()
  const device_id = `device-of-${customer_id}`
  return { customer_id, platform: platformOf(person), device_id, kind, time, message_id: `send-${plan.send}-${person}` }
}

function platformOf(person: number): string {
  return person % 2 === 0 ? 'ANDROID' : 'IOS'
}

function send({ path, body }: Report): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(`${plan.url}${path}`, { method: 'POST', agent, headers: plan.headers }, (answer) => {
      answer.resume()
      answer.once('error', reject)
      answer.once('end', () => {
        if (answer.statusCode === 200) resolve()
        else reject(new Error(`answered ${answer.statusCode}`))
      })
    })
    sent.once('error', reject)
    sent.end(body)
  })
}
