// The table of memberships: who was in the audience of a campaign, when and how. A fact always keeps the customer id it was
// reported with, even when users merge.
import { compareMemberships, membershipIdentity, type Group, type Membership } from '../../core/campaigns/facts.ts'
import { factTable } from './fact-table.ts'
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
/** All memberships of customers, in any campaign. */
export const listMembershipsOf = FACTS.listOf
/** Stores memberships, each once; returns the identities (`membershipIdentity`) of the new ones. */
export const addMemberships = FACTS.add
/** Deletes all memberships of customers. */
export const removeMembershipsOf = FACTS.removeOf

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
