// Validation of bodies by schemas: each fault is named once, and a list that is too long costs no more than one of the allowed
// length.
import { describe, expect, it } from 'vitest'
import type { TSchema } from 'typebox'
import { DETAILS_MAX } from '../../src/core/app-error.ts'
import { parseJson, type JsonBody } from '../../src/http/requests/json-body.ts'
import { listCutterOf } from '../../src/http/requests/list-cutter.ts'
import { OperationValidator } from '../../src/http/requests/validation.ts'
import { EVENTS_PER_ENTRY_MAX } from '../../src/core/event.ts'
import { CONDITIONS_MAX } from '../../src/core/campaigns/goal-faults.ts'
import { ATTACHMENTS_MAX } from '../../src/core/templates/template.ts'
import { addCoupons } from '../../src/operations/coupons/add-coupons.ts'
import { createCampaign } from '../../src/operations/campaigns/create-campaign.ts'
import { createTemplate } from '../../src/operations/templates/create-template.ts'
import { reportAudience } from '../../src/operations/campaigns/report-audience.ts'
import { searchTemplates } from '../../src/operations/templates/search-templates.ts'
import { listUserEvents } from '../../src/operations/events/list-user-events.ts'
import { trackEvents } from '../../src/operations/events/track-events.ts'
import { updatePreferences } from '../../src/operations/preferences/update-preferences.ts'
import type { Operation } from '../../src/operations/operation.ts'

describe('A list with too many items', () => {
  const member = { customer_id: 'c1', platform: 'WEB', evaluated_at: 1 }
  const check = (body: unknown) => checkBody(reportAudience, body)
  const members = (count: number, last: unknown) => [...Array.from({ length: count - 1 }, () => member), last]

  it('is refused as a whole without checking the items past its limit', () => {
    const { faults, value } = check({ members: members(EVENTS_PER_ENTRY_MAX + 2, 'wrong'), mistyped: 1 })
    expect(faults.map(({ field }) => field)).toEqual(['mistyped', 'members'])
    expect(value).toEqual({ members: undefined })
  })

  it('is refused with the faults of its items and of the fields beside it', () => {
    const { faults } = check({ members: ['wrong', ...members(EVENTS_PER_ENTRY_MAX, member)], mistyped: 1 })
    expect(faults.map(({ field }) => field)).toEqual(['mistyped', 'members', 'members[0]'])
  })

  it('does not change the body', () => {
    const body = { members: members(EVENTS_PER_ENTRY_MAX + 2, member) }
    check(body)
    expect(body.members).toHaveLength(EVENTS_PER_ENTRY_MAX + 2)
  })

  it('is not one with exactly the allowed number', () => {
    const body = { members: members(EVENTS_PER_ENTRY_MAX, member) }
    const { faults, value } = check(body)
    expect(faults).toEqual([])
    expect(value).toBe(body)
  })
})

describe('A nested list with too many items', () => {
  const attachment = { name: 'terms.pdf', url: 'https://files.example.com/terms.pdf' }
  const condition = { attribute: 'amount', operator: 'exists' }
  const inTemplate = (attachments: unknown) => ({
    basic_details: { email_content: 'Welcome', attachments },
    meta_info: { template_id: 't', template_name: 't', template_version: '1', created_by: 'ada' },
  })
  const inCampaign = (where: unknown) => ({
    name: 'c',
    platforms: ['WEB'],
    conversion_goals: [
      { name: 'first', event: 'Visit' },
      { name: 'second', event: 'Visit', where },
    ],
    created_by: 'ada',
  })
  const lists: [field: string, operation: Operation, item: object, max: number, body: (list: unknown) => object][] = [
    ['basic_details.attachments', createTemplate, attachment, ATTACHMENTS_MAX, inTemplate],
    ['conversion_goals[1].where', createCampaign, condition, CONDITIONS_MAX, inCampaign],
  ]

  it.each(lists)('is checked up to its limit, and refused as a whole: %s', (field, operation, item, max, toBody) => {
    const list = [0, ...Array.from({ length: max }, () => item), 0, 0]
    const body = toBody(list)
    const { faults, value } = checkBody(operation, body)
    expect(faults).toEqual([
      { field, problem: `must have at most ${max} items` },
      { field: `${field}[0]`, problem: 'must be an object' },
    ])
    expect(value).toEqual(toBody(undefined))
    expect(body).toEqual(toBody(list))
    expect(list).toHaveLength(max + 3)
  })

  it.each(lists)('is not one with exactly the allowed number: %s', (_field, operation, item, max, toBody) => {
    const body = toBody(Array.from({ length: max }, () => item))
    const { faults, value } = checkBody(operation, body)
    expect(faults).toEqual([])
    expect(value).toBe(body)
  })
})

describe('A member named like the index of an item', () => {
  const inCategories = (categories: object) => ({ user_preferences: { customer_id: 'c1', categories } })

  it.each(['007', '0', '12', '-1', '1e3'])('is named as it was sent: %s', (name) => {
    const { faults, value } = checkBody(updatePreferences, inCategories({ Offers: true, [name]: 5 }))
    expect(faults).toEqual([{ field: `user_preferences.categories.${name}`, problem: 'must be a boolean' }])
    expect(value).toStrictEqual(inCategories({ Offers: true, [name]: undefined }))
  })

  it('is not confused with an item of a list', () => {
    const body = { type: 'event', customer_id: 'c1', actions: [{ action: 'A' }, { action: 5 }] }
    const { faults, value } = checkBody(trackEvents, body)
    expect(faults).toEqual([{ field: 'actions[1].action', problem: 'must be a string' }])
    expect(value).toStrictEqual({ ...body, actions: [{ action: 'A' }, { action: undefined }] })
  })
})

describe('A value of the wrong type, or not among the allowed ones', () => {
  const action = { action: 'Order Placed' }
  const cases: [operation: Operation, body: object, field: string, problem: string][] = [
    [trackEvents, { type: 5, customer_id: 'c1', actions: [action] }, 'type', 'must be "event"'],
    [trackEvents, { type: 'event', customer_id: 5, actions: [action] }, 'customer_id', 'must be a string or null'],
    [
      searchTemplates,
      { page: 1, entries: 1, template_type: [5] },
      'template_type[0]',
      'must be one of CUSTOM, PRE_BUILT',
    ],
    [
      searchTemplates,
      { page: 1, entries: 1, template_type: ['x'] },
      'template_type[0]',
      'must be one of CUSTOM, PRE_BUILT',
    ],
    [searchTemplates, { page: '1', entries: 1 }, 'page', 'must be an integer'],
  ]
  it.each(cases)('is one fault: %o', (operation, body, field, problem) => {
    expect(checkBody(operation, body).faults).toEqual([{ field, problem }])
  })
})

describe('A list without a limit on its items', () => {
  const codes = (...wrong: unknown[]) => ({ coupons: ['a', ...wrong, 'b'] })
  const categories = (count: number) => {
    const entries = Array.from({ length: count }, (_, index) => [`c${index}`, 1])
    return { user_preferences: { customer_id: 'c', categories: Object.fromEntries(entries) as object } }
  }
  const cut = (operation: Operation, body: unknown) => listCutterOf(operation.body as TSchema)?.(body)

  it('is checked up to one more item of a wrong type than a refusal lists', () => {
    const half = Array.from({ length: 100_000 }, () => 1)
    expect(cut(addCoupons, codes(...half))).toEqual({ coupons: ['a', ...half.slice(0, DETAILS_MAX + 1)] })
    expect(checkBody(addCoupons, codes(...half)).faults).toHaveLength(DETAILS_MAX)
    const few = codes(...half.slice(0, DETAILS_MAX))
    expect(cut(addCoupons, few)).toBe(few)
    expect(checkBody(addCoupons, few).faults.at(-1)?.field).toBe(`coupons[${DETAILS_MAX}]`)
  })

  it('is checked completely if its items are valid', () => {
    const body = { coupons: Array.from({ length: 200_000 }, (_, index) => `c${index}`) }
    expect(checkBody(addCoupons, body)).toEqual({ value: body, faults: [] })
  })

  it('may also be an object with names', () => {
    expect(cut(updatePreferences, categories(90_000))).toEqual(categories(DETAILS_MAX + 1))
    expect(checkBody(updatePreferences, categories(90_000)).faults).toHaveLength(DETAILS_MAX)
    const few = categories(DETAILS_MAX)
    expect(cut(updatePreferences, few)).toBe(few)
  })
})

describe('An unknown member with a very long name', () => {
  it('is named by the two ends of its name, and removed', () => {
    const name = `first${'x'.repeat(100_000)}last`
    const { faults, value } = checkBody(searchTemplates, { page: 1, entries: 1, [name]: 1 })
    expect(faults).toEqual([{ field: expect.stringMatching(/^firstx+…x+last$/), problem: 'is not known here' }])
    expect(faults[0]?.field.length).toBeLessThan(600)
    expect(value).toEqual({ page: 1, entries: 1 })
  })
})

it.each(['?', '#'])('A query after %s, where the router begins to read one, has its integers parsed', (sign) => {
  const url = `/v1/event/main${sign}customer_id=c&limit=10`
  const { value, faults } = new OperationValidator(listUserEvents).query({ customer_id: 'c', limit: '10' }, url)
  expect([value, faults]).toEqual([{ customer_id: 'c', limit: 10 }, []])
})

const AN_OBJECT = 'must be an object'

describe('A number that 64-bit floating point would round', () => {
  const checkText = (operation: Operation, text: string) => checkSent(operation, parseJson(Buffer.from(text)))
  const goals = (value: string) =>
    `[{"name":"g","event":"e","where":[{"attribute":"a","operator":"is","value":${value}}]}]`
  const campaign = (name: string, value: string) => {
    return `{"name":${name},"platforms":["WEB"],"created_by":"ada","conversion_goals":${goals(value)}}`
  }

  const wrong: [operation: Operation, text: string, field: string, problem: string][] = [
    [searchTemplates, '{"page":1,"entries":12345678901234567890}', 'entries', 'must be at most 15'],
    [searchTemplates, '{"page":1,"entries":1e400}', 'entries', 'must be at most 15'],
    [searchTemplates, '{"page":-1e400,"entries":1}', 'page', 'must be at least 1'],
    [searchTemplates, '{"page":1.12345678901234567,"entries":1}', 'page', 'must be an integer'],
    [searchTemplates, '{"page":1,"entries":1,"template_id":12345678901234567890}', 'template_id', 'must be a string'],
    [searchTemplates, '{"page":1,"entries":1,"sort_params":[12345678901234567890]}', 'sort_params[0]', AN_OBJECT],
    [searchTemplates, '12345678901234567890', 'body', AN_OBJECT],
    [trackEvents, events('12345678901234567890'), 'actions[0].attributes', 'must be an object or null'],
    [updatePreferences, categories('12345678901234567890'), 'user_preferences.categories.News', 'must be a boolean'],
  ]
  it.each(wrong)('is refused like any other where it is wrong: %o', (operation, text, field, problem) => {
    expect(checkText(operation, text).faults).toEqual([{ field, problem }])
  })

  it('is rounded where the schema declares a number', () => {
    const time = '1777888800.251234567'
    const { value, faults } = checkText(trackEvents, events('null', `,"user_time":${time}`))
    expect(faults).toEqual([])
    expect(value).toMatchObject({ actions: [{ user_time: Number(time) }] })
  })

  it('keeps its digits in attributes, unknown members and values of conditions', () => {
    const text = events('{"a":[12345678901234567890],"b":{"c":1e400}}', ',"x":0.12345678901234567')
    expect(JSON.stringify(checkText(trackEvents, text))).toBe(`{"value":${text},"faults":[]}`)
    const written = campaign('"c"', '[12345678901234567890]')
    expect(JSON.stringify(checkText(createCampaign, written))).toBe(`{"value":${written},"faults":[]}`)
  })

  it('keeps its digits beside a fault', () => {
    const { value } = checkText(createCampaign, campaign('5', '12345678901234567890'))
    const goalsLeft = (value as Record<string, unknown>)['conversion_goals']
    expect(JSON.stringify(goalsLeft)).toBe(goals('12345678901234567890'))
  })
})

function events(attributes: string, members = ''): string {
  return `{"type":"event","customer_id":"c1","actions":[{"action":"A","attributes":${attributes}${members}}]}`
}

function categories(value: string): string {
  return `{"user_preferences":{"customer_id":"c1","categories":{"News":${value}}}}`
}

function checkBody(operation: Operation, value: unknown) {
  return checkSent(operation, { value, hasLongNumbers: false })
}

function checkSent(operation: Operation, sent: JsonBody) {
  if (!operation.body) throw new Error('the operation takes a body')
  return new OperationValidator(operation).body(operation.body, sent)
}
