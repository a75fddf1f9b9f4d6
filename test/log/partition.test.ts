// The partition of a key never changes.
import { expect, it } from 'vitest'
import { LOG_PARTITIONS, partitionOf } from '../../src/log/partition.ts'

/** Existing logs contain entries in these partitions: rows may be added, but never changed. */
const PARTITIONS_OF_KEYS: readonly (readonly [key: string, partition: number])[] = [
  ['', 25],
  ['a', 0],
  ['main customer-1', 3],
  ['customer-2', 5],
  ['ä😀', 18],
  ['0198f0e2-7c3a-7000-8000-000000000001', 20],
]

it.each(PARTITIONS_OF_KEYS)('keeps the key %j in partition %i', (key, partition) => {
  expect(partitionOf(key)).toBe(partition)
})

it('spreads similar keys evenly over all partitions', () => {
  const counts = Array.from({ length: LOG_PARTITIONS }, () => 0)
  const keys = Array.from({ length: 1_000 * LOG_PARTITIONS }, (_, index) => `main customer-${index}`)
  for (const key of keys) counts[partitionOf(key)] = (counts[partitionOf(key)] ?? 0) + 1
  expect(Math.min(...counts)).toBeGreaterThan(800)
  expect(Math.max(...counts)).toBeLessThan(1_200)
})
