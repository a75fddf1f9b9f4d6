// Reads what the predicate needs of one person: only the facts that the rule asks for.
import { sql } from 'kysely'
import { AppError } from '../../core/app-error.ts'
import { parseJsonText } from '../../core/json/parse-json.ts'
import type { Person, PersonEvent, PersonMessage } from '../../core/segments/holds-for.ts'
import { listLeafRules, type LeafRule, type Rule } from '../../core/segments/rule.ts'
import { NOTHING_SET } from '../../core/users/preference.ts'
import { listMessageEvents } from '../campaigns/message-events.ts'
import type { Store } from '../store.ts'
import { eventRows } from '../users/events.ts'
import { findPreferences } from '../users/preferences.ts'
import { findUsersWithAliases, type User, type UserWithAliases } from '../users/users.ts'

/** The most events and the most message events of one person that are read, and the most bytes of their attributes. */
export const PERSON_FACTS_MAX = 10_000
const ATTRIBUTES_BYTES_MAX = 16 * 1024 * 1024

/** Throws AppError `conflict` if the person has more facts than the limits. */
export async function findPerson(store: Store, user: User, rule: Rule): Promise<Person> {
  const rules = listLeafRules(rule)
  const aliases = (await findUsersWithAliases(store, [user.id])).get(user.id) as UserWithAliases
  const preference = (await findPreferences(store, [user.id])).get(user.id)?.preference ?? NOTHING_SET
  const attributes = Object.entries(user.attributes).map(([name, [value]]) => [name, value] as const)
  return {
    attributes: Object.fromEntries(attributes),
    events: await listEvents(store, aliases, rules),
    messages: await listMessages(store, aliases, rules),
    preference,
    createdAt: user.createdAt,
  }
}

async function listEvents(
  store: Store,
  { userIds }: UserWithAliases,
  rules: readonly LeafRule[],
): Promise<PersonEvent[]> {
  const names = new Set(rules.flatMap((rule) => (rule.kind === 'event' ? [rule.action] : [])))
  if (names.size === 0) return []
  const events = eventRows(store)
    .where('event.user_id', 'in', userIds)
    .where('event.action', 'in', [...names])
    .limit(PERSON_FACTS_MAX + 1)
  const sizes = events.select(sql<number>`octet_length(event.attributes)`.as('bytes')).as('sizes')
  const measured = await store.query
    .selectFrom(sizes)
    .select(({ fn }) => [fn.countAll<number>().as('count'), sql<number>`coalesce(sum(bytes), 0)`.as('bytes')])
    .executeTakeFirstOrThrow()
  if (measured.count > PERSON_FACTS_MAX || measured.bytes > ATTRIBUTES_BYTES_MAX) throw tooMany()
  const rows = await events.select(['event.action', 'event.time', 'event.attributes']).execute()
  return rows.map(({ action, time, attributes }) => {
    return { action, time, attributes: parseJsonText(attributes) as PersonEvent['attributes'] }
  })
}

async function listMessages(
  store: Store,
  { customers }: UserWithAliases,
  rules: readonly LeafRule[],
): Promise<PersonMessage[]> {
  const numbers = new Set(rules.flatMap((rule) => (rule.kind === 'campaign' ? (rule.campaign ?? []) : [])))
  const pairs = customers.flatMap((customer) => [...numbers].map((campaign) => ({ customer, campaign })))
  const found = await listMessageEvents(store, pairs, PERSON_FACTS_MAX + 1)
  if (found.length > PERSON_FACTS_MAX) throw tooMany()
  return found.flatMap(({ campaign, kind, time }) => (isCounted(kind) ? [{ campaign, kind, time }] : []))
}

function isCounted(kind: string): kind is PersonMessage['kind'] {
  return kind === 'sent' || kind === 'impression' || kind === 'click'
}

function tooMany(): AppError {
  const limit = `${PERSON_FACTS_MAX} events, ${PERSON_FACTS_MAX} message events or 16 MiB of attributes`
  return new AppError('conflict', `The person has more than ${limit} that the condition asks for.`)
}
