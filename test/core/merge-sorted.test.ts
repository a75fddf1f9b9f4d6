// Several sorted lists as one.
import { expect, it } from 'vitest'
import { array, assert, property, string } from 'fast-check'
import { mergeSorted } from '../../src/core/merge-sorted.ts'

it('gives what sorting all lists together gives', () => {
  assert(
    property(array(array(string())), (lists) => {
      const merged = [...mergeSorted(lists.map((list) => list.toSorted()))]
      expect(merged).toEqual(lists.flat().toSorted())
    }),
  )
})
