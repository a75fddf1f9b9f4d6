// Assigns entries to partitions of a log that several pipelines follow. It does not assign partitions to pipelines.

/**
 * The partitions of a shared log, and so the most pipelines that can follow it. Never change this for a log with entries: those of
 * one user would be in two partitions, and be applied in any order.
 */
export const LOG_PARTITIONS = 32

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** FNV-1a over the code units of the key. Folds the upper half in, because the lower bits mix least. */
export function partitionOf(key: string): number {
  let hash = FNV_OFFSET
  for (let index = 0; index < key.length; index++) {
    hash = Math.imul(hash ^ key.charCodeAt(index), FNV_PRIME)
  }
  return ((hash ^ (hash >>> 16)) >>> 0) % LOG_PARTITIONS
}
