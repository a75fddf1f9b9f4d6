// The attributes of users that have rules of their own; all others are free-form ("Track user").
import type { Fault } from '../app-error.ts'
import { checkAttributes } from '../attributes.ts'
import { isJsonNumber } from '../json/exact-number.ts'
import { isEmail } from './email-address.ts'
import { isTimeZone } from '../time-zone.ts'

export const EMAIL = 'email'

/** Every fault of a user's attributes that the schema cannot find: in names and sizes, the email address and the time zone. */
export function userAttributeFaults(attributes: Readonly<Record<string, unknown>>): Fault[] {
  const faults: Fault[] = []
  checkAttributes(attributes, () => 'attributes', faults)
  const { email, timezone } = attributes
  if (typeof email === 'string' && email !== '' && !isEmail(email)) {
    faults.push({ field: 'attributes.email', problem: 'must be an email address, or null to clear it' })
  }
  if (typeof timezone === 'string' && timezone !== '' && !isTimeZone(timezone)) {
    faults.push({ field: 'attributes.timezone', problem: 'must be an IANA time zone, such as Europe/Berlin' })
  }
  return faults
}

/**
 * Valid attributes as they take effect: an empty `email` or `timezone` counts as not sent, and a number in `mobile` as its text.
 */
export function effectiveAttributes(sent: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { email, timezone, mobile } = sent
  if (email !== '' && timezone !== '' && !isJsonNumber(mobile)) return sent
  const given = Object.entries(sent).filter(([name, value]) => value !== '' || (name !== EMAIL && name !== 'timezone'))
  return { ...Object.fromEntries(given), ...(isJsonNumber(mobile) && { mobile: String(Number(mobile)) }) }
}
