// The requests that clients of a cluster send: events, links between customers who are one person, and reports of campaigns. Each
// load has users of its own. The naive model computes the resulting statistics.
import { DAY_MS } from '../../src/core/time-zone.ts'
import type { Goal } from '../../src/core/campaigns/goal.ts'
import { BOUNCE_REASONS, MESSAGE_KINDS } from '../../src/core/campaigns/facts.ts'
import { workspaceAfter, PERSON, toBody, type HistoryEntry } from '../support/statistics/history-entries.ts'
import type {
  AudienceReport,
  MessageReport,
  ModelWorkspace,
  TrackedEvent,
} from '../support/statistics/statistics-model-facts.ts'

/**
 * How a client makes sure that a retried request counts once: by an Idempotency-Key; by the ids of its events or facts; or not at
 * all, and so it does not retry.
 */
export type Manner = 'keyed' | 'identified' | 'unnamed'

export interface ClientRequest {
  readonly entry: HistoryEntry
  readonly manner: Manner
  /** The JSON to send. */
  readonly body: string
  /** Whether the client sends it again despite a response, or twice at once. */
  readonly again: 'never' | 'later' | 'at once'
}

/** The goals of each campaign. */
export const CLUSTER_GOALS: readonly (readonly Goal[])[] = [
  [
    { name: 'buys', event: 'Buy', where: [], windowHours: 36 },
    {
      name: 'buys much',
      event: 'Buy',
      where: [{ attribute: 'amount', operator: 'greater_than', value: 50 }],
      windowHours: 12,
    },
  ],
  [{ name: 'buys or not', event: 'Visit', where: [], windowHours: 24 }],
]

const CUSTOMERS = 20
/** Customers with the same person are merged into one user sooner or later. */
const PERSONS = 6
/** Events and facts are dated from this long ago until an hour ago. */
const PAST = 3 * DAY_MS
const RECENT = DAY_MS / 24
const NOTHING = { audiences: [], messages: [], events: [] } as const

export interface WriterOptions {
  readonly random: () => number
  /** The prefix of all names, so that no other writer uses them. */
  readonly name: string
  /** One for each list of goals. */
  readonly campaignIds: readonly string[]
  readonly now: number
}

export class RequestWriter {
  readonly #options: WriterOptions
  readonly #usedInstants = new Set<number>()
  #events = 0
  #messages = 0

  constructor(options: WriterOptions) {
    this.#options = options
  }

  next(): ClientRequest {
    const entry = this.#nextEntry()
    const isUnnamed = entry.kind === 'track_events' && this.#isOnce(6)
    const manner = isUnnamed ? 'unnamed' : this.#pick(['keyed', 'keyed', 'identified'] as const)
    const again = isUnnamed ? 'never' : this.#pick(AGAIN)
    return { entry, manner, again, body: JSON.stringify(withEventIds(toBody(entry), manner === 'identified')) }
  }

  /** The input of the model if exactly these entries were applied. */
  workspaceAfter(entries: readonly HistoryEntry[]): ModelWorkspace {
    const { campaignIds } = this.#options
    const campaigns = campaignIds.map((id, index) => ({ id, goals: CLUSTER_GOALS[index] ?? [] }))
    const nothing = { timezone: 'UTC', campaigns, users: [], audiences: [], messages: [], events: [] }
    return workspaceAfter(nothing, entries)
  }

  #nextEntry(): HistoryEntry {
    const kind = this.#pick(KINDS)
    switch (kind) {
      case 'track_events':
        return { ...NOTHING, kind, ...this.#tracking() }
      case 'track_user':
        return { ...NOTHING, kind, ...this.#link(this.#below(CUSTOMERS)) }
      case 'svc_audience': {
        const campaignId = this.#pick(this.#options.campaignIds)
        return { ...NOTHING, kind, audiences: this.#some(4, () => this.#audience(campaignId)) }
      }
      case 'svc_message_events': {
        const campaignId = this.#pick(this.#options.campaignIds)
        return { ...NOTHING, kind, messages: this.#some(5, () => this.#message(campaignId)) }
      }
    }
  }

  /** Some events of one user, identified by a customer id, by the person, or by both. */
  #tracking(): Pick<HistoryEntry, 'events' | 'customerId' | 'person'> {
    const names = this.#link(this.#below(CUSTOMERS))
    const [customerId, person] = [names.customerId, names.person]
    const events = (owner: string) => this.#some(3, () => this.#event(owner))
    if (this.#isOnce(4)) return { person, events: events(person) }
    if (this.#isOnce(4)) return { customerId, person, events: events(customerId) }
    return { customerId, events: events(customerId) }
  }

  #link(customer: number): { readonly customerId: string; readonly person: string } {
    const { name } = this.#options
    return { customerId: `${name}-customer-${customer}`, person: `${name}-person-${customer % PERSONS}` }
  }

  #event(customerId: string): TrackedEvent {
    const number = this.#events++
    const attributes = { number, amount: this.#below(100) }
    const action = this.#pick(['Buy', 'Visit'])
    return { eventId: `${this.#options.name}-${number}`, customerId, action, time: this.#instant(), attributes }
  }

  #audience(campaignId: string): AudienceReport {
    return {
      campaignId,
      customerId: this.#link(this.#below(CUSTOMERS)).customerId,
      platform: this.#pick(['EMAIL', 'WEB']),
      evaluatedAt: this.#instant(),
      group: this.#isOnce(6) ? 'campaign_control' : 'target',
      variation: this.#pick([null, 'A', 'B']),
      locale: this.#pick([null, 'en']),
      removed: this.#isOnce(8) ? 'user_removed_due_to_frequency_capping' : null,
    }
  }

  #message(campaignId: string): MessageReport {
    const isNamed = this.#isOnce(2)
    const kind = this.#pick(MESSAGE_KINDS)
    return {
      campaignId,
      customerId: this.#link(this.#below(CUSTOMERS)).customerId,
      platform: this.#pick(['EMAIL', 'WEB']),
      deviceId: null,
      kind,
      time: this.#instant(),
      messageId: isNamed ? `${this.#options.name}-message-${this.#messages++}` : null,
      reason: kind === 'bounce' ? this.#pick(BOUNCE_REASONS) : null,
    }
  }

  /** Different for every fact, so that only a retry sends the same fact. */
  #instant(): number {
    for (;;) {
      const instant = this.#options.now - RECENT - this.#below(PAST - RECENT)
      if (this.#usedInstants.has(instant)) continue
      this.#usedInstants.add(instant)
      return instant
    }
  }

  #some<Item>(max: number, make: () => Item): Item[] {
    return Array.from({ length: 1 + this.#below(max) }, make)
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[this.#below(items.length)] as Item
  }

  #isOnce(inSoMany: number): boolean {
    return this.#below(inSoMany) === 0
  }

  #below(bound: number): number {
    return Math.floor(this.#options.random() * bound)
  }
}

/** The kinds of requests, as often as they are sent. */
const KINDS = [
  ...Array.from({ length: 5 }, () => 'track_events' as const),
  'track_user',
  'svc_audience',
  'svc_message_events',
  'svc_message_events',
] as const
const AGAIN = [...Array.from({ length: 8 }, () => 'never' as const), 'later', 'at once'] as const

/** Events of requests with a key, or with no protection, have no ids of their own. */
function withEventIds(body: object, hasIds: boolean): object {
  const { actions } = body as { actions?: readonly object[] }
  if (hasIds || !actions) return body
  return { ...body, actions: actions.map((action) => ({ ...action, event_id: undefined })) }
}

/** The query that finds a user by one of its aliases. */
export function queryOf(name: string): string {
  const isPerson = name.includes('-person-')
  return isPerson ? `identifier_name=${PERSON}&identifier_value=${name}` : `customer_id=${name}`
}
