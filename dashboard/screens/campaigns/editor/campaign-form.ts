// A campaign as the editor holds it: what is typed, also while it is not complete, and conversion from and to campaigns of the API.
import { WINDOW_HOURS_DEFAULT } from '../../../../src/core/campaigns/goal.ts'
import type { AudiencePart, Consent, Delivery } from '../../../../src/core/delivery/delivery.ts'
import type { SegmentCondition } from '../../../../src/core/segments/condition.ts'
import type { AnswerOf } from '../../../data/contracts.ts'
import { fromComparison, toComparison, toWhole, type ComparisonForm } from '../../segments/conditions/leaf-form.ts'

export type EditedCampaign = AnswerOf<'GET', '/core-services/v1/campaigns/:campaign_id'>

export interface VariationForm {
  readonly name: string
  readonly share: string
  readonly templateId: string
  /** '': the newest when the campaign starts. */
  readonly version: string
}

export interface GoalForm {
  readonly name: string
  readonly event: string
  readonly where: readonly ComparisonForm[]
  readonly hours: string
}

export interface CampaignForm {
  readonly name: string
  readonly include: readonly AudiencePart[]
  readonly exclude: readonly AudiencePart[]
  readonly consent: Consent
  /** '': none. */
  readonly category: string
  readonly control: string
  readonly hasGlobalControl: boolean
  readonly senderId: string
  readonly variations: readonly VariationForm[]
  readonly goals: readonly GoalForm[]
  readonly when: 'now' | 'later'
  /** Local time of the workspace, or as a program wrote it. */
  readonly startAt: string
  readonly giveUpHours: string
  readonly graceHours: string
  readonly isCapped: boolean
  readonly couponsWhenEmpty: Delivery['couponsWhenEmpty']
  readonly tracksOpens: boolean
  readonly tracksClicks: boolean
  /** The `updated_at` from which it was begun; '' for a new campaign. */
  readonly basis: string
}

export const NEW_CAMPAIGN: CampaignForm = {
  name: '',
  include: [],
  exclude: [],
  consent: 'opted_in',
  category: '',
  control: '0',
  hasGlobalControl: true,
  senderId: '',
  variations: [{ name: 'A', share: '100', templateId: '', version: '' }],
  goals: [],
  when: 'now',
  startAt: '',
  giveUpHours: '24',
  graceHours: '6',
  isCapped: true,
  couponsWhenEmpty: 'skip',
  tracksOpens: true,
  tracksClicks: true,
  basis: '',
}

export const NEW_GOAL: GoalForm = { name: '', event: '', where: [], hours: String(WINDOW_HOURS_DEFAULT) }

export function fromCampaign(campaign: EditedCampaign): CampaignForm {
  const { name, conversion_goals: goals, delivery, updated_at: basis } = campaign
  const form = { ...NEW_CAMPAIGN, name, goals: goals.map(fromGoal), basis }
  if (!delivery) return form
  const { audience, tracking } = delivery
  return {
    ...form,
    include: audience.include as AudiencePart[],
    exclude: (audience.exclude ?? []) as AudiencePart[],
    consent: delivery.consent ?? 'opted_in',
    category: delivery.category ?? '',
    control: String(delivery.campaign_control_percent ?? 0),
    hasGlobalControl: delivery.global_control ?? true,
    senderId: delivery.sender_id,
    variations: delivery.variations.map(({ name: variation, share, external_template_id: templateId, version }) => {
      return { name: variation, share: String(share), templateId, version: String(version ?? '') }
    }),
    when: delivery.start_at === null ? 'now' : 'later',
    startAt: delivery.start_at ?? '',
    giveUpHours: String(delivery.give_up_after_hours),
    graceHours: String(delivery.grace_hours),
    isCapped: delivery.capped ?? true,
    couponsWhenEmpty: delivery.coupons_when_empty ?? 'skip',
    tracksOpens: tracking?.opens ?? true,
    tracksClicks: tracking?.clicks ?? true,
  }
}

/** The same to send once more: with the newest templates, and not at the time that is over. */
export function copyOf(form: CampaignForm, name: string): CampaignForm {
  const variations = form.variations.map((variation) => ({ ...variation, version: '' }))
  return { ...form, name, variations, when: 'now', startAt: '', basis: '' }
}

function fromGoal({ name, event, where, window_hours: hours }: EditedCampaign['conversion_goals'][number]): GoalForm {
  return { name, event, where: where.map(fromComparison), hours: String(hours) }
}

/** As it is sent. What is missing or no number is sent as it is, so that the server names every fault. */
export function toDeliveryFields(form: CampaignForm) {
  return {
    sender_id: form.senderId,
    audience: { include: [...form.include], exclude: [...form.exclude] },
    variations: form.variations.map(({ name, share, templateId, version }) => ({
      name,
      share: toNumber(share),
      external_template_id: templateId,
      ...(version !== '' && { version: toNumber(version) }),
    })),
    consent: form.consent,
    category: form.category === '' ? null : form.category,
    campaign_control_percent: toNumber(form.control),
    global_control: form.hasGlobalControl,
    start_at: form.when === 'now' ? null : form.startAt,
    give_up_after_hours: toNumber(form.giveUpHours),
    grace_hours: toNumber(form.graceHours),
    capped: form.isCapped,
    coupons_when_empty: form.couponsWhenEmpty,
    tracking: { opens: form.tracksOpens, clicks: form.tracksClicks },
  }
}

export function toGoalFields({ goals }: Pick<CampaignForm, 'goals'>) {
  return goals.map(({ name, event, where, hours }) => {
    return { name, event, where: where.map(toComparison), window_hours: toNumber(hours) }
  })
}

function toNumber(text: string): number {
  return toWhole(text) as number
}

/** Who is in the audience as one condition, to count them; undefined as long as nobody is. */
export function toAudienceCondition({ include, exclude }: CampaignForm): SegmentCondition | undefined {
  if (include.length === 0) return undefined
  const included = { any: include.map(toPart) }
  return exclude.length === 0 ? included : { all: [included, { not: { any: exclude.map(toPart) } }] }
}

function toPart(part: AudiencePart): SegmentCondition {
  return typeof part === 'string' ? { segment: part } : part
}
