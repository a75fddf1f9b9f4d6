// Cuts a large answer into the pieces in which it is written. Copied into one piece it would make garbage that is slow to go, and
// if it were written at once nobody could tell whether it is being read (`connections.ts`).

/** The most that is written of an answer in one piece. */
export const PIECE_BYTES_MAX = 256 * 1024

/** The same bytes, not copied, in pieces of at most `PIECE_BYTES_MAX`. */
export function* piecesToSend(pieces: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const piece of pieces) {
    for (let start = 0; start < piece.byteLength; start += PIECE_BYTES_MAX) {
      yield piece.subarray(start, start + PIECE_BYTES_MAX)
    }
  }
}
