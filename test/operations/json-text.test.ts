// JSON assembled from parts that are already serialized equals the text of serializing everything at once.
import { expect, it } from 'vitest'
import { JsonText } from '../../src/operations/json-text.ts'

const values: [what: string, members: Record<string, unknown>, last: Record<string, unknown>][] = [
  ['no members', {}, {}],
  ['members before its last object', { a: 1, b: [null, 'x'] }, {}],
  ['one member in its last object', { a: 1 }, { one: { deep: [1, 2] } }],
  ['several members in its last object, and none before it', {}, { one: 1, two: 'zwei', three: null }],
  ['names and strings that need escaping', { 'a"b': 'c\\d' }, { 'quote "': '\u2028 ü 😀', ['__proto__']: 1, '': '' }],
]
it.each(values)('an object contains %s', (_what, members, last) => {
  const written = Object.entries(last).map(([key, value]) => [key, [Buffer.from(JSON.stringify(value))]] as const)
  const json = JsonText.objectEndingWith(members, 'data', written)
  const text = Buffer.concat(json.pieces).toString('utf8')
  expect(text).toBe(JSON.stringify({ ...members, data: last }))
  expect(json.byteLength).toBe(Buffer.byteLength(text))
})

const lists: [what: string, list: unknown[], members: Record<string, unknown>][] = [
  ['no values', [], {}],
  ['no values before members', [], { next: null }],
  ['one value', [{ a: 1 }], {}],
  ['several values before members', [1, 'zwei "2"', { three: [null] }], { 'n"': 'ü', more: 2 }],
]
it.each(lists)('an object begins with a list of %s', (_what, list, members) => {
  const written = list.map((value) => JSON.stringify(value))
  const json = JsonText.objectBeginningWith('data', written, members)
  const text = Buffer.concat(json.pieces).toString('utf8')
  expect(text).toBe(JSON.stringify({ data: list, ...members }))
  expect(json.byteLength).toBe(Buffer.byteLength(text))
})
