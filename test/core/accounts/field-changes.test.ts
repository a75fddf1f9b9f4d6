// What the audit trail keeps of a change: which fields differ, without secrets, long texts and addresses of persons.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FIELD_CHANGES_MAX, findDifference, type Compared } from '../../../src/core/accounts/field-changes.ts'
import { parseJsonText } from '../../../src/core/json/parse-json.ts'

const differenceOf = (compared: Compared) => findDifference(compared, (text) => ({ length: text.length, sha256: 'x' }))
const changesOf = (before: unknown, after: unknown) => {
  return differenceOf({ before, after }).changes.map(({ field, before, after }) => [field, before, after])
}

describe('The difference of two bodies', () => {
  const table: [what: string, before: unknown, after: unknown, changes: readonly unknown[]][] = [
    ['a member', { name: 'a', rest: 1 }, { name: 'b', rest: 1 }, [['name', 'a', 'b']]],
    [
      'members of objects',
      { smtp: { host: 'a', port: 1 } },
      { smtp: { host: 'b', port: 1 } },
      [['smtp.host', 'a', 'b']],
    ],
    ['members of items', { goals: [{ name: 'a' }] }, { goals: [{ name: 'b' }] }, [['goals[0].name', 'a', 'b']]],
    ['nothing, in another order', { a: 1, b: [{ c: 1, d: 2 }] }, { b: [{ d: 2, c: 1 }], a: 1 }, []],
    [
      'what is new',
      undefined,
      { name: 'a', tags: ['x'] },
      [
        ['name', null, 'a'],
        ['tags[0]', null, 'x'],
      ],
    ],
    [
      'what is gone',
      { name: 'a', on: false },
      undefined,
      [
        ['name', 'a', null],
        ['on', false, null],
      ],
    ],
    ['no null of what is new', null, { name: 'a', archived_at: null, list: [], object: {} }, [['name', null, 'a']]],
    ['an item that was removed', { list: ['a', 'b', 'c'] }, { list: ['b', 'c'] }, [['list[0]', 'a', null]]],
    ['an item that was added between', { list: ['a', 'c'] }, { list: ['a', 'b', 'c'] }, [['list[1]', null, 'b']]],
    ['an item among the same', { list: ['a', 'a'] }, { list: ['a', 'a', 'a'] }, [['list[2]', null, 'a']]],
    [
      'a list that became a text',
      { value: ['a'] },
      { value: 'b' },
      [
        ['value', null, 'b'],
        ['value[0]', 'a', null],
      ],
    ],
    [
      'an object that became a list',
      { a: { b: 1 } },
      { a: [2] },
      [
        ['a[0]', null, 2],
        ['a.b', 1, null],
      ],
    ],
    [
      'types',
      { a: 1, b: true },
      { a: '1', b: 'true' },
      [
        ['a', 1, '1'],
        ['b', true, 'true'],
      ],
    ],
    ['empty texts', { a: '' }, { a: 'x' }, [['a', '', 'x']]],
    ['nothing but when', { name: 'a', updated_at: 1 }, { name: 'a', updated_at: 2 }, []],
    ['members of other objects named so', { a: { updated_at: 1 } }, { a: { updated_at: 2 } }, [['a.updated_at', 1, 2]]],
    ['members with names of JavaScript', {}, { toString: 'a' }, [['toString', null, 'a']]],
    ['an empty name', { '': 1 }, { '': 2 }, [['[""]', 1, 2]]],
  ]
  it.each(table)('names %s', (_what, before, after, changes) => {
    expect(changesOf(before, after)).toEqual(changes)
  })

  it('keeps every digit of a number', () => {
    const [before, after] = ['12345678901234567890', '12345678901234567891'].map((text) =>
      parseJsonText(`{"a":${text}}`),
    )
    expect(JSON.stringify(differenceOf({ before, after }).changes)).toBe(
      '[{"field":"a","before":12345678901234567890,"after":12345678901234567891}]',
    )
    expect(changesOf(before, parseJsonText('{"a":1234567890123456789e1}'))).toEqual([])
  })

  it('has no text of more than 200 characters, in values and in paths', () => {
    const [fitting, long] = ['x'.repeat(200), 'x'.repeat(201)]
    expect(changesOf({ html: fitting }, { html: long })).toEqual([['html', fitting, { length: 201, sha256: 'x' }]])
    expect(changesOf({}, { [long]: 1, [fitting]: 2 })).toEqual([
      [`${'x'.repeat(199)}…`, null, 1],
      [fitting, null, 2],
    ])
  })

  it('names a hundred fields, and counts the others', () => {
    const after = { list: Array.from({ length: FIELD_CHANGES_MAX + 7 }, (_, index) => index) }
    const { changes, furtherChanges } = differenceOf({ after, secrets: ['key'] })
    expect([changes.length, changes.at(-1)?.field, furtherChanges]).toEqual([100, 'list[99]', 8])
    expect(differenceOf({ before: after, after }).furtherChanges).toBe(0)
  })

  it('tells that a secret was replaced, and no secret', () => {
    const body = { smtp: { has_password: true } }
    expect(differenceOf({ before: body, after: body, secrets: ['smtp.password'] }).changes).toEqual([
      { field: 'smtp.password', before: null, after: null },
    ])
    const names = ['password', 'private_key', 'secret', 'token', 'api_key']
    for (const name of names) {
      expect(changesOf({ deep: [{ [name]: 'a' }] }, { deep: [{ [name]: 'b' }] })).toEqual([
        [`deep[0].${name}`, null, null],
      ])
      expect(changesOf({ [name]: 'a' }, { [name]: 'a' })).toEqual([])
    }
  })

  it('has no address of a person in a condition, and other addresses', () => {
    const where = (value: unknown) => ({ where: { all: [{ attribute: 'email', operator: 'is', value }] } })
    expect(changesOf(where('a'), where(' Ada@Example.com'))).toEqual([['where.all[0].value', null, null]])
    expect(changesOf(where(['ada@example.com']), where(['x']))).toEqual([['where.all[0].value[0]', null, null]])
    expect(changesOf(where({ deep: 'ada@example.com' }), where('DE'))).toEqual([
      ['where.all[0].value', null, 'DE'],
      ['where.all[0].value.deep', null, null],
    ])
    expect(changesOf({ from_email: 'a@shop.example' }, { from_email: 'b@shop.example' })).toEqual([
      ['from_email', 'a@shop.example', 'b@shop.example'],
    ])
  })

  it('is empty of equal bodies, and named by every scalar of unequal ones', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.jsonValue({ maxDepth: 4 }), (before, after) => {
        expect(changesOf({ before }, { before })).toEqual([])
        const there = differenceOf({ before, after })
        const back = differenceOf({ before: after, after: before })
        expect(back.changes.length + back.furtherChanges).toBe(there.changes.length + there.furtherChanges)
        for (const { before: left, after: right } of there.changes) {
          if (left === null && right === null) continue
          expect(JSON.stringify(left)).not.toBe(JSON.stringify(right))
        }
      }),
    )
  })
})
