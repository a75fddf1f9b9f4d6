// The fields of a coupon list, for creating and editing it, and what they become in requests.
import { CheckField, TextField } from '../../components/controls/field.tsx'
import type { AskedOf } from '../../data/contracts.ts'
import { useWorkspace } from '../../data/session.ts'
import { couponFormText } from '../../texts/coupons.ts'
import { toLines } from '../../components/controls/lines.ts'
import type { ListedCoupons } from './coupon-status.tsx'

/** As the fields hold them. */
export interface ListValues {
  readonly name: string
  readonly expires_at: string
  readonly subscribers: string
  readonly success: boolean
  readonly failure: boolean
  readonly expiry: boolean
  readonly expiryDays: string
  readonly shortage: boolean
  readonly shortageCount: string
}

/** The key of what is typed, and not saved yet, of a list. */
export function listEditKey(id: string): string {
  return `coupon list ${id}`
}

export const LIST_LABELS: { readonly [Name in keyof ListValues]: string } = {
  name: couponFormText.name,
  expires_at: couponFormText.expires,
  subscribers: couponFormText.subscribers,
  success: couponFormText.success,
  failure: couponFormText.failure,
  expiry: couponFormText.expiry,
  expiryDays: couponFormText.expiryDays,
  shortage: couponFormText.shortage,
  shortageCount: couponFormText.shortageCount,
}

export function toListValues(list: ListedCoupons): ListValues {
  const { alert_conditions: alerts } = list
  return {
    name: list.name,
    expires_at: list.expires_at,
    subscribers: list.email_alert_subscribers.join('\n'),
    success: alerts.success_alert,
    failure: alerts.failure_alert,
    expiry: alerts.expiry_alert.alert,
    expiryDays: String(alerts.expiry_alert.days_before),
    shortage: alerts.coupon_shortage_alert.alert,
    shortageCount: String(alerts.coupon_shortage_alert.threshold_count),
  }
}

type ListChanges = AskedOf<'PATCH', '/v1/coupon-list/:coupon_list_id'>['body']

/** The members that the values change. */
export function toListBody(values: Partial<ListValues>): ListChanges {
  const { name, expires_at, subscribers, success, failure, expiry, expiryDays, shortage, shortageCount } = values
  const hasExpiry = expiry !== undefined || expiryDays !== undefined
  const hasShortage = shortage !== undefined || shortageCount !== undefined
  const alerts = {
    ...(success !== undefined && { success_alert: success }),
    ...(failure !== undefined && { failure_alert: failure }),
    ...(hasExpiry && {
      expiry_alert: {
        ...(expiry !== undefined && { alert: expiry }),
        ...(expiryDays !== undefined && { days_before: Number(expiryDays) }),
      },
    }),
    ...(hasShortage && {
      coupon_shortage_alert: {
        ...(shortage !== undefined && { alert: shortage }),
        ...(shortageCount !== undefined && { threshold_count: Number(shortageCount) }),
      },
    }),
  }
  return {
    ...(name !== undefined && { name }),
    ...(expires_at !== undefined && { expires_at }),
    ...(subscribers !== undefined && { email_alert_subscribers: toLines(subscribers) }),
    ...(Object.keys(alerts).length > 0 && { alert_conditions: alerts }),
  }
}

interface ListFieldsProps {
  readonly values: ListValues
  readonly change: (changes: Partial<ListValues>) => void
  /** An archived list has no date. */
  readonly hasDate?: boolean
}

export function ListFields({ values, change, hasDate = true }: ListFieldsProps) {
  const { zone } = useWorkspace()
  return (
    <>
      {hasDate && (
        <TextField
          name="expires_at"
          type="date"
          label={couponFormText.expires}
          hint={couponFormText.expiresHint(zone)}
          value={values.expires_at}
          onInput={(expires_at) => change({ expires_at })}
        />
      )}
      <fieldset class="stack">
        <legend>{couponFormText.alerts}</legend>
        <TextField
          name="email_alert_subscribers"
          label={couponFormText.subscribers}
          hint={couponFormText.subscribersHint}
          isOptional
          rows={2}
          value={values.subscribers}
          onInput={(subscribers) => change({ subscribers })}
        />
        <AlertFields values={values} change={change} />
      </fieldset>
    </>
  )
}

function AlertFields({ values, change }: ListFieldsProps) {
  const check = (name: 'success' | 'failure' | 'expiry' | 'shortage') => (
    <CheckField
      name={name}
      label={couponFormText[name]}
      isChecked={values[name]}
      onChange={(isChecked) => change({ [name]: isChecked })}
    />
  )
  return (
    <>
      {check('shortage')}
      {values.shortage && (
        <TextField
          name="alert_conditions.coupon_shortage_alert.threshold_count"
          type="number"
          label={couponFormText.shortageCount}
          value={values.shortageCount}
          onInput={(shortageCount) => change({ shortageCount })}
        />
      )}
      {check('expiry')}
      {values.expiry && (
        <TextField
          name="alert_conditions.expiry_alert.days_before"
          type="number"
          label={couponFormText.expiryDays}
          value={values.expiryDays}
          onInput={(expiryDays) => change({ expiryDays })}
        />
      )}
      {check('failure')}
      {check('success')}
    </>
  )
}
