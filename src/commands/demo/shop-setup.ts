// What the marketers of the demo's shop have made: templates, coupon lists, segments, a sender, and campaigns that Tidings sends.
import { DAY_MS } from '../../core/time-zone.ts'
import { Dice } from './dice.ts'
import type { DemoServer } from './demo-server.ts'
import { toMailHtml } from './mail-layout.ts'
import type { DemoMail } from './demo-mail.ts'
import { DEMO_MAILS } from './mail-words.ts'
import { DEMO_LOCALES } from './people.ts'

const CODE_LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'.split('')

const COUPON_LISTS = [
  { name: 'Welcome, 10 percent', label: 'welcome10', days: 120, codes: 6_000, least: 500 },
  { name: 'Mid-season sale, 20 percent', label: 'sale20', days: 21, codes: 9_000, least: 1_000 },
  { name: 'We miss you, 10 percent', label: 'comeback', days: 45, codes: 260, least: 300 },
  { name: 'Birthday gift', label: 'birthday', days: 300, codes: 1_500, least: 100 },
  { name: 'Spring fair', label: 'spring', days: 9, codes: 800, least: 0, isArchived: true },
]

const opened = (days: number) => ({ event: 'Product Viewed', did: true, within_days: days })
const ordered = (days: number) => ({ event: 'Order Placed', did: true, within_days: days })

const SEGMENTS = {
  'Bought in the last 30 days': ordered(30),
  'Looked, but did not buy': { all: [opened(30), { event: 'Order Placed', did: false, within_days: 30 }] },
  'Not seen for 45 days': { not: { any: [opened(45), ordered(45)] } },
  'Large orders': {
    event: 'Order Placed',
    did: true,
    times: { at_least: 1 },
    within_days: 60,
    where: [{ attribute: 'amount', operator: 'greater_than', value: 150 }],
  },
  'Gold members': { attribute: 'loyalty_tier', operator: 'is', value: 'gold' },
  'German speakers': { attribute: 'locale', operator: 'is', value: 'de' },
  'Readers of the magazine': { preference: { category: 'Magazine', is: true } },
  'Interested in offers': {
    all: [
      { preference: { opt_in_status: ['OPTED_IN', 'DOUBLE_OPTED_IN'] } },
      { preference: { category: 'Offers', is: true } },
    ],
  },
} as const

export interface ShopSetup {
  /** By the id of the mail: the template that is the default of its group. */
  readonly templates: ReadonlyMap<string, string>
  /** By name. */
  readonly segments: ReadonlyMap<string, string>
  readonly senderId: string
}

export async function setUpShop(server: DemoServer, { seed, now }: { seed: number; now: number }): Promise<ShopSetup> {
  const templates = new Map<string, string>()
  for (const mail of DEMO_MAILS) templates.set(mail.id, await addTemplates(server, mail))
  await addCouponLists(server, { seed, now })
  const segments = new Map<string, string>()
  for (const [name, where] of Object.entries(SEGMENTS)) {
    const body = { name, where, created_by: 'mara@juniper.example' }
    const { segment_id: id } = await server.call<{ segment_id: string }>('POST', '/core-services/v1/segments', {
      tile: 'reports',
      body,
    })
    segments.set(name, id)
  }
  return { templates, segments, senderId: await addSender(server) }
}

/** One for each language. Returns the id of the first, which the others name as their group. */
async function addTemplates(server: DemoServer, mail: DemoMail): Promise<string> {
  let group: string | undefined
  for (const locale of DEMO_LOCALES) {
    const body = {
      basic_details: {
        subject: mail.words[locale].subject,
        email_content: toMailHtml(mail, locale),
        sender_name: 'Juniper',
      },
      meta_info: {
        template_id: `${mail.id}-${locale}`,
        template_name: `${mail.name} (${locale})`,
        template_version: '1',
        created_by: mail.createdBy,
        locale,
        ...(group !== undefined && { group_id: group }),
      },
    }
    const made = await server.call<{ external_template_id: string }>('POST', '/v1.0/custom-templates/email', {
      tile: 'data',
      body,
    })
    group ??= made.external_template_id
  }
  return group as string
}

async function addCouponLists(server: DemoServer, { seed, now }: { seed: number; now: number }): Promise<void> {
  const dice = new Dice(seed)
  for (const { name, label, days, codes, least, isArchived } of COUPON_LISTS) {
    const body = {
      name,
      label,
      expires_at: new Date(now + days * DAY_MS).toISOString().slice(0, 10),
      created_by: 'tom@juniper.example',
      email_alert_subscribers: ['tom@juniper.example'],
      alert_conditions: { coupon_shortage_alert: { alert: least > 0, threshold_count: least } },
    }
    const { _id: id } = await server.call<{ _id: string }>('POST', '/v1/coupon-list', { tile: 'reports', body })
    const path = `/v1/coupon-list/${id}`
    await server.call('POST', `${path}/coupons`, { tile: 'reports', body: { coupons: makeCodes(dice, label, codes) } })
    if (isArchived === true) await server.call('PUT', `${path}/archive`, { tile: 'reports' })
  }
}

function makeCodes(dice: Dice, label: string, count: number): string[] {
  const codes = new Set<string>()
  const prefix = label.slice(0, 4).toUpperCase()
  while (codes.size < count) codes.add(`${prefix}-${Array.from({ length: 8 }, () => dice.pick(CODE_LETTERS)).join('')}`)
  return [...codes]
}

/** Its SMTP server is in a domain that never exists (RFC 2606), so the demo cannot send anything to anybody. */
async function addSender(server: DemoServer): Promise<string> {
  const body = {
    name: 'Juniper news',
    from_email: 'news@juniper.example',
    from_name: 'Juniper',
    reply_to: 'hello@juniper.example',
    smtp: { host: 'smtp.juniper.invalid', port: 587, security: 'starttls' },
    tracking_url: 'https://links.juniper.example',
  }
  const { sender_id: id } = await server.call<{ sender_id: string }>('POST', '/core-services/v1/senders', {
    tile: 'reports',
    body,
  })
  return id
}

/** A draft, and a campaign that has been started. Returns the id of the latter. */
export async function addSentCampaigns(
  server: DemoServer,
  { templates, segments, senderId }: ShopSetup,
): Promise<string> {
  const common = { sender_id: senderId, campaign_control_percent: 10 }
  const goals = [{ name: 'Order', event: 'Order Placed', window_hours: 72 }]
  const template = (id: string) => templates.get(id) as string
  const segment = (name: keyof typeof SEGMENTS) => segments.get(name) as string
  await createDemoCampaign(server, {
    name: 'Gift guide',
    conversion_goals: goals,
    created_by: 'tom@juniper.example',
    delivery: {
      ...common,
      audience: { include: [segment('Interested in offers')], exclude: [segment('Not seen for 45 days')] },
      variations: [{ name: 'Gifts', share: 100, external_template_id: template('gifts') }],
      category: 'Offers',
    },
  })
  return createDemoCampaign(server, {
    name: 'New arrivals',
    conversion_goals: goals,
    created_by: 'mara@juniper.example',
    delivery: {
      ...common,
      audience: { include: [segment('Looked, but did not buy'), segment('Bought in the last 30 days')] },
      variations: [
        { name: 'Arrivals', share: 70, external_template_id: template('arrivals') },
        { name: 'Magazine', share: 30, external_template_id: template('magazine') },
      ],
      category: 'New arrivals',
    },
  })
}

/** Returns the id. */
export async function createDemoCampaign(server: DemoServer, campaign: object): Promise<string> {
  const body = { platforms: ['EMAIL'], ...campaign }
  const made = await server.call<{ campaign_id: string }>('POST', '/core-services/v1/campaigns', {
    tile: 'reports',
    body,
  })
  return made.campaign_id
}
