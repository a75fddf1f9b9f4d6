// Get attention: lists what goes on only when somebody does something, as far as the caller may read it.
import { Type, type Static } from 'typebox'
import { findShownDeliveries, shownStateOf } from '../../actions/delivery/shown-deliveries.ts'
import { isSufficient } from '../../core/accounts/credential.ts'
import type { Permission } from '../../core/accounts/permission.ts'
import { metConditions } from '../../core/coupons/coupon-alerts.ts'
import { calendarDate } from '../../core/coupons/coupon-list.ts'
import type { ShownState } from '../../core/delivery/delivery-changes.ts'
import { toIso } from '../../core/time-value.ts'
import type { Workspace } from '../../core/workspace.ts'
import {
  findCampaignNames,
  listDoubtfulCampaigns,
  listHaltedCampaigns,
} from '../../store/campaign-lists/waiting-campaigns.ts'
import { listConditionsOf, type ListConditions } from '../../store/coupons/coupon-list-pages.ts'
import { countParkedOf } from '../../store/entries/parked-entries.ts'
import { findWaiting } from '../../store/senders/sender-leases.ts'
import { listSendersOf } from '../../store/senders/senders.ts'
import type { Store } from '../../store/store.ts'
import { ShownStateOutput } from '../campaigns/delivery-body.ts'
import { IsoTime, NoFields, OneOf, WorkspacePath } from '../fields.ts'
import { defineOperation, type Parts } from '../operation.ts'
import { PARKED_COUNTED_MAX } from './get-changes.ts'

/** How many of each kind the response names. */
const NAMED_MAX = 10
/** How many campaigns are looked at, the newest first. */
const CAMPAIGNS_EXAMINED_MAX = 1_000
/** The used part from which on a limit is nearly used. */
const NEARLY_USED = 0.8

/** In the order of the response, with the permission that shows each. */
const SECTIONS = {
  campaigns_halted: { needs: 'campaigns.read', find: findHalted },
  messages_in_doubt: { needs: 'campaigns.read', find: findDoubtful },
  senders_waiting: { needs: 'senders.read', find: findWaitingSenders },
  parked_entries: { needs: 'parked.read', find: findParked },
  coupons_short: { needs: 'coupons.read', find: findShort },
  coupons_expiring: { needs: 'coupons.read', find: findExpiring },
  limits_nearly_used: { needs: 'settings.read', find: findNearlyUsed },
} as const satisfies Readonly<
  Record<string, { needs: Permission; find: (search: Search) => Promise<Omit<Item, 'kind'>> }>
>
type Kind = keyof typeof SECTIONS
const KINDS = Object.keys(SECTIONS) as Kind[]

const SubjectOutput = Type.Object({
  id: Type.String({ description: 'Of the campaign, sender or coupon list; the name of the limit.' }),
  name: Type.String(),
  state: Type.Optional(ShownStateOutput),
  since: Type.Optional(IsoTime),
  reason: Type.Optional(Type.String({ description: 'Why a campaign or sender waits: a sentence.' })),
  count: Type.Optional(
    Type.Integer({ description: 'Messages in doubt, codes that nobody has, days until the expiry, or used units.' }),
  ),
  of: Type.Optional(Type.Integer({ description: 'All codes of the list, or all units of the limit.' })),
})
type Subject = Static<typeof SubjectOutput>

interface Item {
  readonly kind: Kind
  readonly count: number
  readonly subjects: readonly Subject[]
}

interface Search {
  readonly workspace: Workspace
  readonly now: number
  readonly parts: Parts
  /** The active coupon lists. Two kinds need them, and a workspace may have thousands: read once, if at all. */
  readonly findLists: () => Promise<readonly ListConditions[]>
}

export const getAttention = defineOperation({
  name: 'get_attention',
  summary: 'Get attention',
  description:
    'Returns what goes on only when somebody does something: campaigns that are paused, overdue or waiting for their SMTP server, ' +
    'messages in doubt, senders whose server takes no mail, entries of the log that could not be applied, coupon lists that run short ' +
    'or expire by their `alert_conditions`, and limits of which at least 80 percent are used. A kind of which there is nothing, or that ' +
    `the caller may not read, is left out. Each names at most ${NAMED_MAX}; \`count\` counts all: of the newest ` +
    `${CAMPAIGNS_EXAMINED_MAX} campaigns, and at most ${PARKED_COUNTED_MAX} entries.`,
  group: 'Workspace',
  method: 'GET',
  url: '/v1/workspaces/:Workspace_ID/attention',
  requires: 'workspace.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: NoFields,
  body: null,
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        kind: OneOf(KINDS),
        count: Type.Integer({ description: 'Campaigns, messages, senders, entries, lists or limits.' }),
        subjects: Type.Array(SubjectOutput, { maxItems: NAMED_MAX }),
      }),
      { maxItems: KINDS.length },
    ),
  }),
  async handle({ workspace, credential, now }, parts) {
    const allowed = KINDS.filter((kind) => isSufficient(credential, SECTIONS[kind].needs))
    let lists: Promise<readonly ListConditions[]> | undefined
    const findLists = () => (lists ??= listConditionsOf(parts.database, workspace.id, todayIn(workspace, now)))
    const search = { workspace, now, parts, findLists }
    const items = allowed.map(async (kind) => ({ kind, ...(await SECTIONS[kind].find(search)) }))
    return { data: (await Promise.all(items)).filter(({ count }) => count > 0) }
  },
})

async function findHalted({ workspace, parts: { database } }: Search) {
  const numbers = await listHaltedCampaigns(database, workspace.id, CAMPAIGNS_EXAMINED_MAX)
  const named = numbers.slice(0, NAMED_MAX)
  const deliveries = await findShownDeliveries(database, named)
  const subjects = await nameCampaigns(database, workspace, named, (number) => {
    const shown = deliveries.get(number)
    const halt = shown?.stored.paused ?? shown?.waiting
    return {
      ...(shown && { state: shownStateOf(shown) satisfies ShownState }),
      ...(halt && { since: toIso(halt.since), reason: halt.reason }),
    }
  })
  return { count: numbers.length, subjects }
}

async function findDoubtful({ workspace, parts: { database } }: Search) {
  const doubtful = await listDoubtfulCampaigns(database, workspace.id, CAMPAIGNS_EXAMINED_MAX)
  const messagesOf = new Map(doubtful.map(({ campaign, messages }) => [campaign, messages]))
  const named = doubtful.slice(0, NAMED_MAX).map(({ campaign }) => campaign)
  const subjects = await nameCampaigns(database, workspace, named, (number) => ({ count: messagesOf.get(number) ?? 0 }))
  return { count: doubtful.reduce((sum, { messages }) => sum + messages, 0), subjects }
}

async function nameCampaigns(
  store: Store,
  { id: workspaceId }: Workspace,
  numbers: readonly number[],
  describe: (number: number) => Omit<Subject, 'id' | 'name'>,
): Promise<Subject[]> {
  const names = await findCampaignNames(store, workspaceId, numbers)
  return numbers.flatMap((number) => {
    const campaign = names.get(number)
    return campaign ? [{ id: campaign.id, name: campaign.name, ...describe(number) }] : []
  })
}

async function findWaitingSenders({ workspace, parts: { database } }: Search) {
  const senders = await listSendersOf(database, workspace.id)
  const halts = await findWaiting(
    database,
    senders.map(({ number }) => number),
  )
  return toItem(
    senders.flatMap(({ id, name, number }) => {
      const halt = halts.get(number)
      return halt ? [{ id, name, since: toIso(halt.since), reason: halt.reason }] : []
    }),
  )
}

async function findParked({ workspace, parts: { database } }: Search) {
  return { count: await countParkedOf(database, workspace.id, PARKED_COUNTED_MAX), subjects: [] }
}

function findShort(search: Search) {
  return describeLists(search, (list, today) => {
    if (!metConditions(list, today).isShort) return undefined
    return { count: list.availableCoupons, of: list.totalCoupons }
  })
}

function findExpiring(search: Search) {
  return describeLists(search, (list, today) => {
    const { expiresInDays: days } = metConditions(list, today)
    return days === undefined ? undefined : { count: days }
  })
}

async function describeLists(
  { workspace, now, findLists }: Search,
  describe: (list: ListConditions, today: string) => Omit<Subject, 'id' | 'name'> | undefined,
) {
  const today = todayIn(workspace, now)
  return toItem(
    (await findLists()).flatMap((list) => {
      const described = describe(list, today)
      return described ? [{ id: list.id, name: list.name, ...described }] : []
    }),
  )
}

function todayIn({ timezone }: Workspace, now: number): string {
  return calendarDate(timezone, now)
}

async function findNearlyUsed({ workspace, now, parts: { listUsedLimits } }: Search) {
  const nearly = (await listUsedLimits(workspace, now)).filter(({ used, units }) => used >= units * NEARLY_USED)
  return toItem(nearly.map(({ limit, used, units }) => ({ id: limit, name: limit, count: used, of: units })))
}

function toItem(subjects: readonly Subject[]) {
  return { count: subjects.length, subjects: subjects.slice(0, NAMED_MAX) }
}
