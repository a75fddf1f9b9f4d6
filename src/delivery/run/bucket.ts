// Puts people into groups and variations by a hash, so that nothing has to be stored, and nobody moves when a run is started again
// ("Hash").
import { hash } from 'node:crypto'

/** What a hash decides. Each purpose hashes differently, so that one decision does not depend on another. */
export type BucketPurpose = 'global_control' | 'campaign_control' | 'variation'

const HASHED_BYTES = 6
const BUCKETS = 2 ** (8 * HASHED_BYTES)

/**
 * A number from 0 up to, but not including, 1: the first six bytes of SHA-256(purpose, 0, seed, 0, customer id). `customerId`: the
 * one that the person had first.
 */
export function bucketOf(purpose: BucketPurpose, seed: string, customerId: string): number {
  const digest = hash('sha256', `${purpose}\0${seed}\0${customerId}`, 'buffer')
  return digest.readUIntBE(0, HASHED_BYTES) / BUCKETS
}

/** The item in whose share a number from 0 to 1 falls. Shares are percent; the last item takes what is left. */
export function pickByShare<Item extends { readonly share: number }>(items: readonly Item[], at: number): Item {
  let percent = 0
  for (const item of items) {
    percent += item.share
    if (at * 100 < percent) return item
  }
  return items.at(-1) as Item
}
