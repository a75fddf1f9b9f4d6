// What schemas make of a body: a list that is too long must not cost more than one of the allowed length.
import { describe, expect, it } from 'vitest'
import { OperationValidator } from '../src/http/validation.ts'
import { EVENTS_PER_ENTRY_MAX } from '../src/core/event.ts'
import { reportAudience } from '../src/operations/report-audience.ts'

describe('A list with more items than it may have', () => {
  const member = { customer_id: 'c1', platform: 'WEB', evaluated_at: 1 }
  const check = (body: unknown) => {
    const { body: schema } = reportAudience
    if (!schema) throw new Error('the operation takes a body')
    return new OperationValidator(reportAudience).body(schema, body)
  }
  const members = (count: number, last: unknown) => [...Array.from({ length: count - 1 }, () => member), last]

  it('is refused as a whole, and what stands past its end is not looked at', () => {
    const { faults, value } = check({ members: members(EVENTS_PER_ENTRY_MAX + 2, 'wrong'), mistyped: 1 })
    expect(faults.map(({ field }) => field)).toEqual(['mistyped', 'members'])
    expect(value).toEqual({ members: undefined })
  })

  it('has the faults of its items named, and of everything beside it', () => {
    const { faults } = check({ members: ['wrong', ...members(EVENTS_PER_ENTRY_MAX, member)], mistyped: 1 })
    expect(faults.map(({ field }) => field)).toEqual(['mistyped', 'members', 'members[0]'])
  })

  it('leaves the body as it was sent', () => {
    const body = { members: members(EVENTS_PER_ENTRY_MAX + 2, member) }
    check(body)
    expect(body.members).toHaveLength(EVENTS_PER_ENTRY_MAX + 2)
  })

  it('is not one with exactly as many', () => {
    const body = { members: members(EVENTS_PER_ENTRY_MAX, member) }
    const { faults, value } = check(body)
    expect(faults).toEqual([])
    expect(value).toBe(body)
  })
})
