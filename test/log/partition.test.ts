// Which partition a key belongs to, for ever.
import { expect, it } from 'vitest'
import { LOG_PARTITIONS, partitionOf } from '../../src/log/partition.ts'

/** Logs in use hold entries where earlier versions put them: this table may grow, and never change. */
const PLACES: readonly (readonly [key: string, partition: number])[] = [
  ['', 25],
  ['a', 0],
  ['main customer-1', 3],
  ['customer-2', 5],
  ['ä😀', 18],
  ['0198f0e2-7c3a-7000-8000-000000000001', 20],
]

it.each(PLACES)('the key %j stays in partition %i', (key, partition) => {
  expect(partitionOf(key)).toBe(partition)
})

it('keys that differ little are spread over all partitions, and none holds many more than others', () => {
  const counts = Array.from({ length: LOG_PARTITIONS }, () => 0)
  const keys = Array.from({ length: 1_000 * LOG_PARTITIONS }, (_, index) => `main customer-${index}`)
  for (const key of keys) counts[partitionOf(key)] = (counts[partitionOf(key)] ?? 0) + 1
  expect(Math.min(...counts)).toBeGreaterThan(800)
  expect(Math.max(...counts)).toBeLessThan(1_200)
})
