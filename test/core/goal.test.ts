// Which events meet a goal ("Conversions"): every operator on every type of value, without type conversion.
import { describe, expect, it } from 'vitest'
import { parseJsonText } from '../../src/core/json/parse-json.ts'
import { meetsConditions, windowMs, type Condition, type Goal, type Operator } from '../../src/core/campaigns/goal.ts'

function goalWhere(...where: Condition[]): Goal {
  return { name: 'Goal', event: 'Order Placed', where, windowHours: 36 }
}

/** Attributes as they come from a request: `__proto__` is a member like any other. */
function parse(json: string): Record<string, unknown> {
  return parseJsonText(json) as Record<string, unknown>
}

describe('A goal', () => {
  // The attribute `a` of the event as JSON, undefined if it is missing; the operator; the value as JSON.
  const cases: [actual: string | undefined, operator: Operator, value: string, meets: boolean][] = [
    ['"x"', 'is', '"x"', true],
    ['"x"', 'is', '"X"', false],
    ['""', 'is', '""', true],
    ['1', 'is', '1', true],
    ['1', 'is', '1.0', true],
    ['1', 'is', '"1"', false],
    ['"1"', 'is', '1', false],
    ['true', 'is', 'true', true],
    ['true', 'is', '1', false],
    ['true', 'is', '"true"', false],
    ['0', 'is', '-0', true],
    ['0', 'is', 'false', false],
    ['null', 'is', 'null', true],
    ['null', 'is', '0', false],
    ['null', 'is', '""', false],
    ['null', 'is', '{}', false],
    ['{}', 'is', 'null', false],
    ['0', 'is', '{}', false],
    ['{}', 'is', '0', false],
    [undefined, 'is', 'null', false],
    ['[1,2]', 'is', '[1,2]', true],
    ['[1,2]', 'is', '[2,1]', false],
    ['[1]', 'is', '1', false],
    ['[]', 'is', '{}', false],
    ['{"b":1,"c":[null]}', 'is', '{"c":[null],"b":1}', true],
    ['{"b":1}', 'is', '{"b":1,"c":2}', false],
    ['{"b":1,"c":2}', 'is', '{"b":1}', false],
    ['{"b":1}', 'is', '{"c":1}', false],
    ['{"toString":1}', 'is', '{"b":1}', false],
    ['{"b":1}', 'is', '{"toString":1}', false],

    ['"x"', 'is_not', '"x"', false],
    ['"x"', 'is_not', '"y"', true],
    ['1', 'is_not', '"1"', true],
    ['null', 'is_not', 'null', false],
    [undefined, 'is_not', 'null', true],
    [undefined, 'is_not', '"x"', true],
    ['{"b":[1]}', 'is_not', '{"b":[1]}', false],

    ['2', 'greater_than', '1', true],
    ['1', 'greater_than', '1', false],
    ['1.5', 'greater_than', '1', true],
    ['-1', 'greater_than', '-2', true],
    ['"2"', 'greater_than', '1', false],
    ['true', 'greater_than', '0', false],
    ['[2]', 'greater_than', '1', false],
    ['null', 'greater_than', '-1', false],
    [undefined, 'greater_than', '-1', false],

    ['1', 'less_than', '2', true],
    ['2', 'less_than', '2', false],
    ['-2', 'less_than', '-1.5', true],
    ['"1"', 'less_than', '2', false],
    ['false', 'less_than', '1', false],
    ['null', 'less_than', '1', false],
    [undefined, 'less_than', '1', false],

    ['"summer sale"', 'contains', '"sale"', true],
    ['"summer sale"', 'contains', '"Sale"', false],
    ['"summer sale"', 'contains', '""', true],
    ['"room 101"', 'contains', '101', false],
    ['["red","blue"]', 'contains', '"red"', true],
    ['["red","blue"]', 'contains', '"re"', false],
    ['["red","blue"]', 'contains', '"Red"', false],
    ['[1,2]', 'contains', '2', true],
    ['[1,2]', 'contains', '"2"', false],
    ['[false]', 'contains', 'false', true],
    ['[null]', 'contains', 'null', true],
    ['[]', 'contains', 'null', false],
    ['[["red"]]', 'contains', '"red"', false],
    ['{"red":1}', 'contains', '"red"', false],
    ['101', 'contains', '1', false],
    ['null', 'contains', 'null', false],
    [undefined, 'contains', '""', false],

    ['"x"', 'exists', 'null', true],
    ['""', 'exists', 'null', true],
    ['false', 'exists', 'null', true],
    ['null', 'exists', 'null', true],
    ['"x"', 'exists', '"y"', true],
    [undefined, 'exists', 'null', false],

    ['1610521604143693812', 'is', '1610521604143693812', true],
    ['1610521604143693812', 'is', '1610521604143693812.0', true],
    ['1610521604143693812', 'is', '1610521604143693813', false],
    ['1610521604143693812', 'is', '1610521604143693800', false],
    ['1610521604143693812', 'is', '"1610521604143693812"', false],
    ['1610521604143693812', 'is', '{}', false],
    ['{}', 'is', '1610521604143693812', false],
    ['{"b":[1610521604143693812]}', 'is', '{"b":[1610521604143693812]}', true],
    ['{"b":[1610521604143693812]}', 'is', '{"b":[1610521604143693813]}', false],
    ['1610521604143693812', 'is_not', '1610521604143693813', true],
    ['1610521604143693812', 'is_not', '1610521604143693812', false],
    ['1610521604143693812', 'greater_than', '1610521604143693811', true],
    ['1610521604143693812', 'greater_than', '1610521604143693812', false],
    ['1610521604143693812', 'greater_than', '5', true],
    ['1610521604143693812', 'less_than', '1610521604143693813', true],
    ['1610521604143693812', 'less_than', '1e400', true],
    ['5', 'less_than', '1610521604143693812', true],
    ['"5"', 'less_than', '1610521604143693812', false],
    ['[1,1610521604143693812]', 'contains', '1610521604143693812', true],
    ['[1,1610521604143693812]', 'contains', '1610521604143693813', false],
    ['"1610521604143693812"', 'contains', '1610521604143693812', false],
    ['1610521604143693812', 'exists', 'null', true],
  ]
  it.each(cases)('checks an attribute value of %s with: %s %s', (actual, operator, value, isMet) => {
    const attributes = parse(actual === undefined ? '{"b":1}' : `{"a":${actual}}`)
    const condition = { attribute: 'a', operator, value: parse(`[${value}]`)[0] }
    expect(meetsConditions(goalWhere(condition), attributes)).toBe(isMet)
  })

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length'])(
    'finds the attribute %s only if the event itself has it',
    (attribute) => {
      const exists = goalWhere({ attribute, operator: 'exists' })
      const isNot = goalWhere({ attribute, operator: 'is_not', value: null })
      const is = goalWhere({ attribute, operator: 'is', value: 'x' })
      expect([exists, isNot, is].map((goal) => meetsConditions(goal, {}))).toEqual([false, true, false])
      const present = parse(`{"${attribute}":"x"}`)
      expect([exists, isNot, is].map((goal) => meetsConditions(goal, present))).toEqual([true, true, true])
    },
  )

  const big: Condition = { attribute: 'amount', operator: 'greater_than', value: 100 }
  const paid: Condition = { attribute: 'paid', operator: 'is', value: true }
  const combined: [what: string, where: Condition[], attributes: Record<string, unknown>, meets: boolean][] = [
    ['no conditions', [], {}, true],
    ['all conditions hold', [big, paid], { amount: 101, paid: true }, true],
    ['the first does not hold', [big, paid], { amount: 100, paid: true }, false],
    ['the last does not hold', [big, paid], { amount: 101, paid: false }, false],
    ['two conditions on one attribute', [big, { ...big, operator: 'less_than', value: 200 }], { amount: 150 }, true],
    ['two conditions that exclude each other', [big, { ...big, operator: 'less_than' }], { amount: 150 }, false],
  ]
  it.each(combined)('is met when all conditions hold: %s', (_what, where, attributes, isMet) => {
    expect(meetsConditions(goalWhere(...where), attributes)).toBe(isMet)
  })

  const nested: [condition: Omit<Condition, 'attribute'>, attributes: string, meets: boolean][] = [
    [{ operator: 'is', value: 'x' }, '{"cart":{"coupon":"x"}}', true],
    [{ operator: 'is', value: 'x' }, '{"cart":{"coupon":"y"},"coupon":"x"}', false],
    [{ operator: 'is', value: 'x' }, '{"cart":{"coupon":"y"},"cart.coupon":"x"}', true],
    [{ operator: 'is_not', value: 'x' }, '{"cart":{"coupon":"x"}}', false],
    [{ operator: 'is_not', value: 'x' }, '{"cart":{}}', true],
    [{ operator: 'is_not', value: 'x' }, '{"cart":[{"coupon":"x"}]}', true],
    [{ operator: 'exists' }, '{"cart":{"coupon":null}}', true],
    [{ operator: 'exists' }, '{"cart":null}', false],
    [{ operator: 'greater_than', value: 1 }, '{"cart":{"coupon":2}}', true],
    [{ operator: 'contains', value: 'x' }, '{"cart":{"coupon":["x"]}}', true],
  ]
  it.each(nested)('checks a nested attribute by its path: %j on %s', (condition, attributes, isMet) => {
    const goal = goalWhere({ attribute: 'cart.coupon', ...condition })
    expect(meetsConditions(goal, parse(attributes))).toBe(isMet)
  })

  it('has a window in elapsed time: 36 hours are 129,600,000 ms', () => {
    expect(windowMs(goalWhere())).toBe(129_600_000)
  })
})
