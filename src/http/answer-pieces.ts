// A large answer in the pieces in which it is written: what is copied into one piece makes garbage that is slow to go, and of
// what is written at once nobody could tell whether it is being read (`connections.ts`).

/** What is written of an answer in one piece. */
export const PIECE_BYTES_MAX = 256 * 1024

/** The same bytes, none of them copied, in pieces that are no larger than that. */
export function* piecesToSend(pieces: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const piece of pieces) {
    for (let start = 0; start < piece.byteLength; start += PIECE_BYTES_MAX) {
      yield piece.subarray(start, start + PIECE_BYTES_MAX)
    }
  }
}
