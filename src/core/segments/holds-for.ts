// The predicate of a condition: whether one person is in. It must agree with the statements that find all persons
// (`store/segments/rule-sql.ts`); a property test holds the two together.
import { assertNever } from '../app-error.ts'
import { findAttribute } from '../attribute-path.ts'
import { meetsConditions } from '../campaigns/goal.ts'
import type { CampaignLeaf } from './condition.ts'
import type { CampaignRule, EventRule, LeafRule, Rule } from './rule.ts'
import type { Preference } from '../users/preference.ts'
import { meetsTest } from './value-test.ts'

type JsonObject = Readonly<Record<string, unknown>>

export interface PersonEvent {
  readonly action: string
  readonly time: number
  readonly attributes: JsonObject
}

/** What happened to messages of campaigns to a person, by people and proxies; machines do not count. */
export interface PersonMessage {
  /** `campaigns.number`. */
  readonly campaign: number
  readonly kind: CampaignLeaf['did']
  readonly time: number
}

/** A person with all users and customer ids that were merged. It needs only the facts that the rules ask for. */
export interface Person {
  readonly attributes: JsonObject
  readonly events: readonly PersonEvent[]
  readonly messages: readonly PersonMessage[]
  readonly preference: Pick<Preference, 'status' | 'categories'>
  readonly createdAt: number
}

export function holdsFor(rule: Rule, person: Person): boolean {
  switch (rule.kind) {
    case 'all':
      return rule.rules.every((part) => holdsFor(part, person))
    case 'any':
      return rule.rules.some((part) => holdsFor(part, person))
    case 'not':
      return !holdsFor(rule.rule, person)
    default:
      return leafHoldsFor(rule, person)
  }
}

function leafHoldsFor(rule: LeafRule, person: Person): boolean {
  switch (rule.kind) {
    case 'attribute':
      return meetsTest(findAttribute(person.attributes, rule.path), rule.test)
    case 'event':
      return hasEvents(rule, person)
    case 'campaign':
      return hasMessage(rule, person)
    case 'created':
      return isIn(person.createdAt, rule)
    case 'status':
      return rule.statuses.includes(person.preference.status?.[0] ?? 'OPT_IN_PENDING')
    case 'category':
      return decisionOn(rule.name, person) === rule.is
    default:
      return assertNever(rule)
  }
}

function hasEvents(
  { action, from = -Infinity, until = Infinity, where, min, max }: EventRule,
  person: Person,
): boolean {
  const counted = person.events.filter((event) => {
    const isInTime = event.time >= from && event.time < until
    return event.action === action && isInTime && meetsConditions({ where }, event.attributes)
  })
  return counted.length >= min && counted.length <= max
}

function hasMessage({ campaign, did, from = -Infinity }: CampaignRule, { messages }: Person): boolean {
  return messages.some((message) => message.campaign === campaign && message.kind === did && message.time >= from)
}

function isIn(
  instant: number,
  { before = Infinity, after = -Infinity }: { readonly before: number | undefined; readonly after: number | undefined },
): boolean {
  return instant > after && instant < before
}

function decisionOn(category: string, { preference: { categories } }: Person): boolean | 'never_asked' {
  return Object.hasOwn(categories, category) ? (categories[category]?.[0] ?? 'never_asked') : 'never_asked'
}
