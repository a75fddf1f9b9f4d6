// The table of memberships: who was in the audience of a campaign, when and how. Facts: they keep the customer id they were
// reported with, whoever that turns out to be.
import { compareMemberships, membershipIdentity, type Group, type Membership } from '../../core/campaigns/facts.ts'
import { factTable, type CampaignRange } from './fact-table.ts'
import type { SqlTypes, Store } from '../store.ts'

interface MembershipRow {
  /** `user_identities.number` of the customer id. */
  customer: number
  /** `campaigns.number`. */
  campaign: number
  evaluated_at: number
  platform: string
  audience_group: string
  variation: string | null
  locale: string | null
  removed: string | null
}

declare module '../tables.ts' {
  interface Tables {
    memberships: MembershipRow
  }
}

const KEY = ['customer', 'campaign', 'evaluated_at', 'platform'] as const

export async function createMemberships({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('memberships')
    .addColumn('customer', integer, (column) => column.notNull())
    .addColumn('campaign', integer, (column) => column.notNull())
    .addColumn('evaluated_at', integer, (column) => column.notNull())
    .addColumn('platform', text, (column) => column.notNull())
    .addColumn('audience_group', text, (column) => column.notNull())
    .addColumn('variation', text)
    .addColumn('locale', text)
    .addColumn('removed', text)
    .addPrimaryKeyConstraint('memberships_key', [...KEY])
    .modifyEnd(clustered)
    .execute()
}

/** Where a page of memberships ends: after the one with these values. */
export interface MembershipPlace {
  readonly campaign: number
  readonly evaluatedAt: number
  readonly platform: string
}

export interface MembershipPage {
  readonly after: MembershipPlace | undefined
  readonly max: number
  readonly campaigns: CampaignRange
}

/** A page of a customer's memberships in the order of the key, and where the next begins; undefined after the last. */
export async function pageMemberships(
  { query }: Store,
  customer: number,
  { after, max, campaigns }: MembershipPage,
): Promise<{ readonly facts: Membership[]; readonly next: MembershipPlace | undefined }> {
  const all = query.selectFrom('memberships').selectAll().where('customer', '=', customer)
  // This condition comes first: SQLite enters the index by the first lower bound that it meets.
  const rest = after
    ? all.where((row) => {
        const place = row.tuple(after.campaign, after.evaluatedAt, after.platform)
        return row(row.refTuple('campaign', 'evaluated_at', 'platform'), '>', place)
      })
    : all
  const rows = await rest
    .where('campaign', '>', campaigns.after)
    .where('campaign', '<=', campaigns.until)
    .orderBy('campaign')
    .orderBy('evaluated_at')
    .orderBy('platform')
    .limit(max)
    .execute()
  const facts = rows.map(toMembership)
  return { facts, next: rows.length === max ? facts.at(-1) : undefined }
}

const FACTS = factTable<MembershipRow, Membership, 'memberships'>({
  table: 'memberships',
  key: KEY,
  columns: {
    customer: 'integer',
    campaign: 'integer',
    evaluated_at: 'integer',
    platform: 'text',
    audience_group: 'text',
    variation: 'text',
    locale: 'text',
    removed: 'text',
  },
  identityOf: membershipIdentity,
  compare: compareMemberships,
  activeAt: ({ evaluatedAt }) => evaluatedAt,
  toRow,
  fromRow: toMembership,
})

/** All memberships of customers in campaigns. */
export const listMemberships = FACTS.listIn
/** All memberships of customers, in whatever campaign. */
export const listMembershipsOf = FACTS.listOf
/** How many memberships a customer has in each campaign. */
export const countMemberships = FACTS.count
/** Stores memberships, each once; gives the identities (`membershipIdentity`) of those that were not known before. */
export const addMemberships = FACTS.add

function toMembership(row: MembershipRow): Membership {
  return {
    customer: row.customer,
    campaign: row.campaign,
    evaluatedAt: row.evaluated_at,
    platform: row.platform,
    group: row.audience_group as Group,
    variation: row.variation,
    locale: row.locale,
    removed: row.removed,
  }
}

function toRow(membership: Membership): MembershipRow {
  return {
    customer: membership.customer,
    campaign: membership.campaign,
    evaluated_at: membership.evaluatedAt,
    platform: membership.platform,
    audience_group: membership.group,
    variation: membership.variation,
    locale: membership.locale,
    removed: membership.removed,
  }
}
