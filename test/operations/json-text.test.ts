// JSON put together from parts that are written out already: the same text as if all of it were written at once.
import { expect, it } from 'vitest'
import { JsonText } from '../../src/operations/json-text.ts'

const values: [what: string, members: Record<string, unknown>, last: Record<string, unknown>][] = [
  ['nothing', {}, {}],
  ['members before it', { a: 1, b: [null, 'x'] }, {}],
  ['one member in it', { a: 1 }, { one: { deep: [1, 2] } }],
  ['several members in it, and none before', {}, { one: 1, two: 'zwei', three: null }],
  ['names and texts that need care', { 'a"b': 'c\\d' }, { 'quote "': '\u2028 ü 😀', ['__proto__']: 1, '': '' }],
]
it.each(values)('holds %s', (_what, members, last) => {
  const written = Object.entries(last).map(([key, value]) => [key, [Buffer.from(JSON.stringify(value))]] as const)
  const json = JsonText.objectEndingWith(members, 'data', written)
  const text = Buffer.concat(json.pieces).toString('utf8')
  expect(text).toBe(JSON.stringify({ ...members, data: last }))
  expect(json.byteLength).toBe(Buffer.byteLength(text))
})

const lists: [what: string, list: unknown[], members: Record<string, unknown>][] = [
  ['nothing', [], {}],
  ['members behind it', [], { next: null }],
  ['one value in it', [{ a: 1 }], {}],
  ['several values in it, and members behind it', [1, 'zwei "2"', { three: [null] }], { 'n"': 'ü', more: 2 }],
]
it.each(lists)('begins with a list that holds %s', (_what, list, members) => {
  const written = list.map((value) => JSON.stringify(value))
  const json = JsonText.objectBeginningWith('data', written, members)
  const text = Buffer.concat(json.pieces).toString('utf8')
  expect(text).toBe(JSON.stringify({ data: list, ...members }))
  expect(json.byteLength).toBe(Buffer.byteLength(text))
})
