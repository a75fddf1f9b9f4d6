// The member `delivery` of campaigns on the wire, and the members that show how far a campaign with delivery is.
import { Type, type Static, type TObject } from 'typebox'
import type { Fault } from '../../core/app-error.ts'
import { NAME_LENGTH_MAX } from '../../core/attributes.ts'
import { DIMENSION_NAME_LENGTH_MAX } from '../../core/campaigns/report.ts'
import { EMAIL_PLATFORM } from '../../core/delivery/delivery-entry.ts'
import { AUDIENCE_PARTS_MAX, deliveryFaults, VARIATIONS_MAX } from '../../core/delivery/delivery-faults.ts'
import { CONSENTS, DELIVERY_STATES, type AudiencePart, type Delivery, type Halt } from '../../core/delivery/delivery.ts'
import { resolveStartTime } from '../../core/delivery/start-time.ts'
import { TEMPLATE_ID_LENGTH_MAX } from '../../core/templates/template.ts'
import { toIso } from '../../core/time-value.ts'
import type { Workspace } from '../../core/workspace.ts'
import { shownStateOf, type ShownDelivery } from '../../actions/delivery/shown-deliveries.ts'
import type { StoredDelivery } from '../../store/delivery/deliveries.ts'
import { IsoTime, Nullable, NullableText, OneOf, Strict, Text } from '../fields.ts'
import type { Partially } from '../operation.ts'

const SENDER_ID_LENGTH_MAX = 256
const START_AT_LENGTH_MAX = 64
const TRIES_HOURS_MAX = 72
const GIVE_UP_AFTER_HOURS_DEFAULT = 24
const GRACE_HOURS_DEFAULT = 6
const CONTROL_PERCENT_MAX = 50

const PARTS = { maxItems: AUDIENCE_PARTS_MAX }
const Part = Type.Unknown({ description: 'The id of a segment, or a condition as segments have them.' })
const Hours = (description: string, fallback: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: TRIES_HOURS_MAX, default: fallback, description }))
const Switch = (description: string) => Type.Optional(Type.Boolean({ default: true, description }))

export const DeliveryInput = Strict({
  sender_id: Text(1, SENDER_ID_LENGTH_MAX, 'The sender from whom the messages come.'),
  audience: Strict({
    include: Type.Array(Part, { ...PARTS, minItems: 1, description: 'Everybody in any of these is in the audience…' }),
    exclude: Type.Optional(Type.Array(Part, { ...PARTS, description: '…unless the person is in one of these.' })),
  }),
  variations: Type.Array(
    Strict({
      name: Text(1, DIMENSION_NAME_LENGTH_MAX, 'Unique within the campaign; the variation in statistics.'),
      share: Type.Number({
        exclusiveMinimum: 0,
        maximum: 100,
        description: 'Percent of the people, with at most two decimals. All shares add up to 100.',
      }),
      external_template_id: Text(1, TEMPLATE_ID_LENGTH_MAX, 'The email template.'),
      version: Type.Optional(
        Type.Unsafe<number | null>({
          type: ['integer', 'null'],
          minimum: 1,
          description: 'The version of the template. Without it, the newest when the campaign is started.',
        }),
      ),
    }),
    { minItems: 1, maxItems: VARIATIONS_MAX },
  ),
  consent: Type.Optional(
    OneOf(
      CONSENTS,
      'Who may be sent to. `opted_in`, the default: `OPTED_IN` and `DOUBLE_OPTED_IN`. `not_opted_out`: also people who ' +
        'are pending or were never asked. `transactional`: everybody who is not suppressed; messages have no ' +
        'unsubscribe link.',
    ),
  ),
  category: Type.Optional(
    NullableText(
      1,
      NAME_LENGTH_MAX,
      'The category that a person must have chosen, or not refused under `not_opted_out`.',
    ),
  ),
  campaign_control_percent: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: CONTROL_PERCENT_MAX,
      default: 0,
      description: 'How many percent of the people are sent nothing, for comparison.',
    }),
  ),
  global_control: Switch('Whether the global control group of the workspace is sent nothing.'),
  start_at: Type.Optional(
    NullableText(
      1,
      START_AT_LENGTH_MAX,
      'ISO 8601 with a zone, or a local time in the time zone of the workspace. A local time that does not exist is the ' +
        'next that does; of one that exists twice, it is the first. Without it, the campaign starts at once.',
    ),
  ),
  give_up_after_hours: Hours('How long a refused message is tried again.', GIVE_UP_AFTER_HOURS_DEFAULT),
  grace_hours: Hours('How late the campaign may start. After that it is `overdue`.', GRACE_HOURS_DEFAULT),
  capped: Switch('Whether the frequency caps of the workspace hold, and count the messages.'),
  coupons_when_empty: Type.Optional(
    OneOf(['skip', 'pause'] as const, 'What happens when a coupon list has no code left. Default: `skip` the person.'),
  ),
  tracking: Type.Optional(
    Strict({ opens: Switch('Whether opens are counted.'), clicks: Switch('Whether clicks are counted.') }),
  ),
})
type SentSettings = Static<typeof DeliveryInput>

export const HaltOutput = Type.Object({
  since: IsoTime,
  reason: Type.String(),
  reply: Type.Optional(Type.String({ description: 'The reply of the SMTP server that caused it.' })),
})

export const ShownStateOutput = OneOf([...DELIVERY_STATES, 'paused', 'waiting'])

/** The members that only campaigns with delivery have. */
export const DeliveryMembers = {
  delivery: Type.Optional(
    Type.Object(
      { ...DeliveryInput.properties, start_at: Nullable(Type.String()), category: Nullable(Type.String()) },
      { description: 'The settings, with defaults. Absent if Tidings does not send the campaign.' },
    ),
  ),
  state: Type.Optional(ShownStateOutput),
  starts_at: Type.Optional(
    Nullable(Type.String({ format: 'date-time', description: 'The instant of `start_at`; null: at once.' })),
  ),
  seed: Type.Optional(Type.String({ description: 'Decides, with the customer id, who gets which variation.' })),
  paused: Type.Optional(HaltOutput),
  waiting: Type.Optional(HaltOutput),
}

/** Faults that the schema cannot find in `delivery` and, for it, in `platforms` as sent. */
export function sentDeliveryFaults(
  sent: Partially<{ platforms: readonly string[]; delivery: SentSettings }> | undefined,
  workspace: Workspace,
): Fault[] {
  if (!sent?.delivery) return []
  const platforms = !sent.platforms || isOnlyEmail(sent.platforms) ? [] : [NOT_ONLY_EMAIL]
  return [...platforms, ...deliveryFaults(sent.delivery, 'delivery', workspace)]
}

export const NOT_ONLY_EMAIL: Fault = { field: 'platforms', problem: 'must be ["EMAIL"] in a campaign with `delivery`' }

export function isOnlyEmail(platforms: readonly (string | undefined)[]): boolean {
  return platforms.length === 1 && platforms[0]?.toUpperCase() === EMAIL_PLATFORM
}

/** Fills in defaults. */
export function toDeliverySettings(sent: SentSettings): Delivery {
  const { audience, variations, tracking } = sent
  return {
    senderId: sent.sender_id,
    audience: { include: toParts(audience.include), exclude: toParts(audience.exclude ?? []) },
    variations: variations.map(({ name, share, external_template_id: externalTemplateId, version }) => {
      return { name, share, externalTemplateId, ...(typeof version === 'number' && { version }) }
    }),
    consent: sent.consent ?? 'opted_in',
    category: sent.category ?? null,
    campaignControlPercent: sent.campaign_control_percent ?? 0,
    globalControl: sent.global_control ?? true,
    startAt: sent.start_at ?? null,
    giveUpAfterHours: sent.give_up_after_hours ?? GIVE_UP_AFTER_HOURS_DEFAULT,
    graceHours: sent.grace_hours ?? GRACE_HOURS_DEFAULT,
    capped: sent.capped ?? true,
    couponsWhenEmpty: sent.coupons_when_empty ?? 'skip',
    tracking: { opens: tracking?.opens ?? true, clicks: tracking?.clicks ?? true },
  }
}

/** The faults of `sentDeliveryFaults` have been checked. */
function toParts(parts: readonly unknown[]): AudiencePart[] {
  return parts as AudiencePart[]
}

type ShownMembers = Static<TObject<typeof DeliveryMembers>>

/** The members of a campaign with delivery; none without. */
export function toDeliveryMembers(shown: ShownDelivery | undefined, zone: string): ShownMembers {
  if (!shown) return {}
  const { stored, waiting } = shown
  const { settings, startAt, seed, paused } = stored
  const startsAt = startAt ?? (settings.startAt === null ? undefined : resolveStartTime(settings.startAt, zone))
  return {
    delivery: toSettingsBody(stored),
    state: shownStateOf(shown),
    starts_at: startsAt === undefined ? null : toIso(startsAt),
    seed,
    ...(paused && { paused: toHaltBody(paused) }),
    ...(waiting && { waiting: toHaltBody(waiting) }),
  }
}

/** Once the campaign is started, variations show the versions that are sent. */
function toSettingsBody({ settings, pinned }: StoredDelivery) {
  const { audience, tracking } = settings
  return {
    sender_id: settings.senderId,
    audience: { include: [...audience.include], exclude: [...audience.exclude] },
    variations: settings.variations.map(({ name, share, externalTemplateId, version }, index) => {
      const sent = pinned?.[index]?.template.version ?? version
      return { name, share, external_template_id: externalTemplateId, ...(sent !== undefined && { version: sent }) }
    }),
    consent: settings.consent,
    category: settings.category,
    campaign_control_percent: settings.campaignControlPercent,
    global_control: settings.globalControl,
    start_at: settings.startAt,
    give_up_after_hours: settings.giveUpAfterHours,
    grace_hours: settings.graceHours,
    capped: settings.capped,
    coupons_when_empty: settings.couponsWhenEmpty,
    tracking: { opens: tracking.opens, clicks: tracking.clicks },
  }
}

export function toHaltBody({ since, reason, reply }: Halt) {
  return { since: toIso(since), reason, ...(reply !== undefined && { reply }) }
}
