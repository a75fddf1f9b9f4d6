// Placeholders that broken clients send instead of an id ("Identity resolution"): refused wherever an id would make or merge users.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { memberFaults, messageFaults } from '../../src/core/campaigns/report.ts'
import { PLACEHOLDERS, placeholderProblem } from '../../src/core/users/placeholder.ts'
import { userReferenceFaults } from '../../src/core/users/user.ts'

const NOW = Date.parse('2026-05-04T10:00:00Z')
const SETTINGS = { timezone: 'UTC', clockSkewSeconds: 300 }
/** Some of the kind, as clients print them. */
const SENT = [
  'undefined',
  'Undefined',
  'NULL',
  'None',
  ' nan ',
  '0',
  '[object Object]',
  ' ',
  '\t\u00a0\u3000',
  'unknown',
]
const ZERO_UUID = '00000000-0000-0000-0000-000000000000'

const fieldsOf = (faults: readonly { readonly field: string }[]) => faults.map(({ field }) => field)

describe('a placeholder instead of an id', () => {
  it.each([...SENT, ZERO_UUID, ...PLACEHOLDERS])('is refused: %j', (placeholder) => {
    expect(placeholderProblem(placeholder)).toBeDefined()
    const member = { customer_id: placeholder, evaluated_at: 0, platform: 'EMAIL' }
    const event = { customer_id: placeholder, time: 0, platform: 'EMAIL', kind: 'sent' as const }
    expect({
      customerId: fieldsOf(userReferenceFaults({ customer_id: placeholder }, [])),
      identifier: fieldsOf(userReferenceFaults({ user_identifiers: { crm: placeholder } }, ['crm'])),
      both: fieldsOf(
        userReferenceFaults({ customer_id: placeholder, user_identifiers: { crm: placeholder } }, ['crm']),
      ),
      member: fieldsOf(memberFaults([member], SETTINGS, NOW)),
      event: fieldsOf(messageFaults([event], SETTINGS, NOW)),
    }).toEqual({
      customerId: ['customer_id'],
      identifier: ['user_identifiers.crm'],
      both: ['customer_id', 'user_identifiers.crm'],
      member: ['members[0].customer_id'],
      event: ['events[0].customer_id'],
    })
  })

  it('is refused as a number', () => {
    expect(fieldsOf(userReferenceFaults({ user_identifiers: { crm: 0 } }, ['crm']))).toEqual(['user_identifiers.crm'])
    expect(fieldsOf(userReferenceFaults({ user_identifiers: { crm: -1 } }, ['crm']))).toEqual(['user_identifiers.crm'])
  })

  it('is not found within an id, or in an identifier that is ignored', () => {
    for (const id of [
      'null-7',
      'nullable',
      '00',
      '10',
      'unknown@example.com',
      'Nan Goldin',
      ZERO_UUID.replace('-', ''),
    ]) {
      expect(placeholderProblem(id)).toBeUndefined()
    }
    expect(userReferenceFaults({ customer_id: 'a', user_identifiers: { crm: 'null' } }, [])).toEqual([])
  })

  it('is listed in docs/api', () => {
    const [, row = ''] = /^\| Placeholders \|(.*)$/m.exec(readFileSync('docs/api/decisions.md', 'utf8')) ?? []
    const listed = [...row.matchAll(/`([^`]+)`/g)].map(([, text]) => text)
    expect(listed.filter((text) => text !== 'customer_id')).toEqual(
      PLACEHOLDERS.filter((text) => text !== 'customer_id'),
    )
  })
})
