// The attributes of users that have a meaning of their own; all others are free-form ("Track user").
import type { Fault } from './app-error.ts'
import { checkAttributes } from './attributes.ts'
import { isEmail } from './email-address.ts'
import { isTimeZone } from './time-zone.ts'

export const EMAIL = 'email'

/** What the schema cannot say of a user's attributes: names and bounds, an address that is none, an unknown zone. */
export function userAttributeFaults(attributes: Readonly<Record<string, unknown>>): Fault[] {
  const faults: Fault[] = []
  checkAttributes(attributes, 'attributes', faults)
  const { email, timezone } = attributes
  if (typeof email === 'string' && !isEmail(email)) {
    faults.push({ field: 'attributes.email', problem: 'must be an email address, or null to clear it' })
  }
  if (typeof timezone === 'string' && !isTimeZone(timezone)) {
    faults.push({ field: 'attributes.timezone', problem: 'must be an IANA time zone, such as Europe/Berlin' })
  }
  return faults
}
