// Who agrees to a campaign ("consent", "category"): from the preferences of a person, whether a message may be sent.
import type { Preference } from '../../users/preference.ts'
import type { Consent } from '../delivery.ts'

/** What a campaign asks of its audience. */
export interface WantedConsent {
  readonly consent: Consent
  /** Null: no category. */
  readonly category: string | null
}

/** Whether a person with these preferences may be sent a campaign. */
export function agreesTo({ consent, category }: WantedConsent, { status, categories }: Preference): boolean {
  if (consent === 'transactional') return true
  const asked = status?.[0] ?? 'OPT_IN_PENDING'
  const isIn = category !== null && Object.hasOwn(categories, category) ? categories[category]?.[0] : undefined
  switch (consent) {
    case 'opted_in':
      return (asked === 'OPTED_IN' || asked === 'DOUBLE_OPTED_IN') && (category === null || isIn === true)
    case 'double_opted_in':
      return asked === 'DOUBLE_OPTED_IN' && (category === null || isIn === true)
    case 'not_opted_out':
      return asked !== 'OPTED_OUT' && isIn !== false
  }
}
