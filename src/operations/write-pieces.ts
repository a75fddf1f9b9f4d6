// Encodes a long text in pieces, and lets other requests run between them.
import type { MemoryReservation } from './response-memory.ts'

/** Characters of one piece, approximately. */
const PIECE_LENGTH = 1024 * 1024
/** Characters between two yields to other requests: takes some 5 ms if each part is computed. */
const TURN_LENGTH = 256 * 1024

/** The UTF-8 of a text whose parts are computed one by one. Throws the errors of `reservation`, which counts the bytes. */
export async function writePieces(parts: Iterable<string>, reservation: MemoryReservation): Promise<Buffer[]> {
  const pieces: Buffer[] = []
  let waiting: string[] = []
  let [length, lengthSinceYield] = [0, 0]
  for (const part of parts) {
    waiting.push(part)
    length += part.length
    lengthSinceYield += part.length
    if (length >= PIECE_LENGTH) {
      pieces.push(toPiece(waiting, reservation))
      waiting = []
      length = 0
    }
    if (lengthSinceYield < TURN_LENGTH) continue
    await yieldToEventLoop()
    lengthSinceYield = 0
  }
  if (length > 0) pieces.push(toPiece(waiting, reservation))
  return pieces
}

/** Lets everything that waits for this thread run first. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function toPiece(parts: readonly string[], reservation: MemoryReservation): Buffer {
  const piece = Buffer.from(parts.join(''))
  reservation.add(piece.byteLength)
  return piece
}
