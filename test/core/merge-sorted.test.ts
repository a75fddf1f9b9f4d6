// Merges several sorted lists into one.
import { expect, it } from 'vitest'
import { array, assert, property, string } from 'fast-check'
import { mergeSorted } from '../../src/core/merge-sorted.ts'

it('merging sorted lists gives the same as sorting all their items', () => {
  assert(
    property(array(array(string())), (lists) => {
      const merged = [...mergeSorted(lists.map((list) => list.toSorted()))]
      expect(merged).toEqual(lists.flat().toSorted())
    }),
  )
})
