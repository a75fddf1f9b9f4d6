// Which attribute a path finds: names of nested objects, joined by dots ("Conversions").
import { describe, expect, it } from 'vitest'
import { findAttribute } from '../../src/core/attribute-path.ts'
import { parseJsonText } from '../../src/core/json/parse-json.ts'

describe('The path of an attribute', () => {
  const cases: [what: string, attributes: string, path: string, found: unknown][] = [
    ['is its name', '{"a":1}', 'a', 1],
    ['follows names joined by dots', '{"a":{"b":{"c":1}}}', 'a.b.c', 1],
    ['finds an object', '{"a":{"b":{"c":1}}}', 'a.b', { c: 1 }],
    ['finds a null', '{"a":{"b":null}}', 'a.b', null],
    ['finds nothing below a null', '{"a":null}', 'a.b', undefined],
    ['finds nothing below a string', '{"a":"text"}', 'a.length', undefined],
    ['finds nothing below a number', '{"a":12345678901234567890}', 'a.toString', undefined],
    ['does not enter lists', '{"a":[{"b":1}]}', 'a.0.b', undefined],
    ['does not find the length of a list', '{"a":[1]}', 'a.length', undefined],
    ['prefers the attribute with the whole name', '{"a":{"b":1},"a.b":2}', 'a.b', 2],
    ['prefers the whole name even if its value is null', '{"a":{"b":1},"a.b":null}', 'a.b', null],
    ['prefers the whole rest as a name in nested objects too', '{"a":{"b":{"c":1},"b.c":2}}', 'a.b.c', 2],
    ['finds no name with dots in front of further names', '{"a.b":{"c":1}}', 'a.b.c', undefined],
    ['may have empty names', '{"a":{"":{"b":1}}}', 'a..b', 1],
    ['finds no name that objects inherit', '{"a":{}}', 'a.constructor', undefined],
    ['finds nothing below a name that objects inherit', '{"a":{}}', 'a.__proto__.toString', undefined],
    ['finds a name that objects inherit if it was sent', '{"a":{"__proto__":1}}', 'a.__proto__', 1],
    ['finds nothing if the first name is missing', '{"b":1}', 'a.b', undefined],
  ]
  it.each(cases)('%s', (_what, attributes, path, found) => {
    expect(findAttribute(parseJsonText(attributes) as Record<string, unknown>, path)).toEqual(found)
  })
})
