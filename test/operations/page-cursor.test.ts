// The cursor that clients send back: the position at which a page of a list ends.
import { expect, it } from 'vitest'
import { PageCursor } from '../../src/operations/page-cursor.ts'

const cursor = new PageCursor('e', ['time', 'id'])

const positions: [time: number, id: number, text: string][] = [
  [0, 0, 'e0-0'],
  [1_767_312_000_000, 35, 'emjw3xmo0-z'],
  [Number.MAX_SAFE_INTEGER, 1, 'e2gosa7pa2gv-1'],
]
it.each(positions)('the position %d, %d is written as the cursor %s, and read back', (time, id, text) => {
  expect(cursor.write({ time, id })).toBe(text)
  expect(cursor.parse(text)).toEqual({ time, id })
})

it.each(['', 'e', 'e1', 'e1-', 'e1-2-3', 'p1-2', 'e1-2 ', 'E1-2', 'e-1-2', 'ezzzzzzzzzzz-1', 'e1-2gosa7pa2gw'])(
  '%j is not a cursor',
  (text) => {
    expect(cursor.parse(text)).toBeUndefined()
  },
)
