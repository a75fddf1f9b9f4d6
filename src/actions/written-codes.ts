// Writes a portion of an upload, and adds up what its portions wrote.
import { addCodes, listSimilarCodes, type SimilarCodes } from '../store/coupons/coupons.ts'
import type { Store } from '../store/store.ts'

/** The most pairs of codes that are named because they differ only in case. All are counted. */
export const SIMILAR_CODES_NAMED_MAX = 10

/** What an upload has written so far. */
export interface WrittenCodes {
  /** With duplicates. */
  readonly codes: number
  readonly added: number
  readonly similar: { readonly count: number; readonly named: readonly SimilarCodes[] }
}

export const NOTHING_WRITTEN: WrittenCodes = { codes: 0, added: 0, similar: { count: 0, named: [] } }

/** Adds codes with ids from `firstId` on, in the caller's transaction. */
export async function writeCodes(
  store: Store,
  {
    listNumber,
    firstId,
    codes,
  }: { readonly listNumber: number; readonly firstId: number; readonly codes: readonly string[] },
): Promise<WrittenCodes> {
  const added = await addCodes(store, listNumber, firstId, codes)
  const similar = await listSimilarCodes(store, { first: firstId, last: firstId + codes.length - 1 })
  return {
    codes: codes.length,
    added,
    similar: { count: similar.length, named: similar.slice(0, SIMILAR_CODES_NAMED_MAX) },
  }
}

export function sumOf(left: WrittenCodes, right: WrittenCodes): WrittenCodes {
  const named = [...left.similar.named, ...right.similar.named].slice(0, SIMILAR_CODES_NAMED_MAX)
  return {
    codes: left.codes + right.codes,
    added: left.added + right.added,
    similar: { count: left.similar.count + right.similar.count, named },
  }
}
