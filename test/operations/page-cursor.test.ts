// The place where a page of a list ends, as the cursor that clients send back.
import { expect, it } from 'vitest'
import { PageCursor } from '../../src/operations/page-cursor.ts'

const cursor = new PageCursor('e', ['time', 'id'])

const places: [time: number, id: number, text: string][] = [
  [0, 0, 'e0-0'],
  [1_767_312_000_000, 35, 'emjw3xmo0-z'],
  [Number.MAX_SAFE_INTEGER, 1, 'e2gosa7pa2gv-1'],
]
it.each(places)('the place %d, %d is written %s, and read back', (time, id, text) => {
  expect(cursor.write({ time, id })).toBe(text)
  expect(cursor.parse(text)).toEqual({ time, id })
})

it.each(['', 'e', 'e1', 'e1-', 'e1-2-3', 'p1-2', 'e1-2 ', 'E1-2', 'e-1-2', 'ezzzzzzzzzzz-1', 'e1-2gosa7pa2gw'])(
  '%j is none',
  (text) => {
    expect(cursor.parse(text)).toBeUndefined()
  },
)
