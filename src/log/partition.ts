// Which partition an entry belongs to, in a log that several pipelines follow. Says nothing about who follows it.

/**
 * How many partitions a log for many machines has: room for as many pipelines. Never change it where a log holds entries:
 * those of one user would be in two partitions, and be applied in any order.
 */
export const LOG_PARTITIONS = 32

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** The partition of a key: FNV-1a over its code units, the upper half folded in because the lower bits mix the least. */
export function partitionOf(key: string): number {
  let hash = FNV_OFFSET
  for (let index = 0; index < key.length; index++) {
    hash = Math.imul(hash ^ key.charCodeAt(index), FNV_PRIME)
  }
  return ((hash ^ (hash >>> 16)) >>> 0) % LOG_PARTITIONS
}
