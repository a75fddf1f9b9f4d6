// The attributes of users that have a meaning of their own; all others are free-form ("Track user").
import type { Fault } from '../app-error.ts'
import { checkAttributes } from '../attributes.ts'
import { isEmail } from './email-address.ts'
import { isTimeZone } from '../time-zone.ts'

export const EMAIL = 'email'

/** The faults of a user's attributes that the schema cannot see: names and bounds, an invalid address, an unknown zone. */
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

/** Valid attributes as they count: an empty `email` or `timezone` counts as not sent, and a number in `mobile` as its text. */
export function countedAttributes(sent: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { email, timezone, mobile } = sent
  if (email !== '' && timezone !== '' && typeof mobile !== 'number') return sent
  const given = Object.entries(sent).filter(([name, value]) => value !== '' || (name !== EMAIL && name !== 'timezone'))
  return { ...Object.fromEntries(given), ...(typeof mobile === 'number' && { mobile: String(mobile) }) }
}
