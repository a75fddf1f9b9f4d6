// The attributes of users that have rules of their own; all others are free-form ("Track user").
import type { Fault, Warning } from '../app-error.ts'
import { checkAttributes } from '../attributes.ts'
import { isJsonNumber } from '../json/exact-number.ts'
import { memberPath } from '../field-path.ts'
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

/** Matches every name in `MEANT` in any spelling, and hardly any other: a quick look at each name of a request. */
const MAY_BE_MISSPELT = /^[^a-z]*(?:e[^a-z]*mail|mobile|locale|time[^a-z]*zone)/i

/** Letters of a name → the attribute that it probably means. `email_id` is the name of addresses in preferences. */
const MEANT: ReadonlyMap<string, string> = new Map([
  ['email', EMAIL],
  ['emailid', EMAIL],
  ['emailaddress', EMAIL],
  ['mobile', 'mobile'],
  ['mobilenumber', 'mobile'],
  ['locale', 'locale'],
  ['timezone', 'timezone'],
])

/** Warns of attributes such as `E-Mail` that were sent without the attribute that they probably mean. */
export function userAttributeWarnings(attributes: Readonly<Record<string, unknown>>): Warning[] {
  const warnings: Warning[] = []
  for (const name of Object.keys(attributes)) {
    if (!MAY_BE_MISSPELT.test(name)) continue
    const meant = MEANT.get(name.replaceAll(/[^a-z]/gi, '').toLowerCase())
    if (meant === undefined || Object.hasOwn(attributes, meant)) continue
    const problem = `is stored as an ordinary attribute, not as the user's ${meant}; did you mean ${meant}?`
    warnings.push({ kind: 'misspelt_attribute', field: memberPath('attributes', name), problem })
  }
  return warnings
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
