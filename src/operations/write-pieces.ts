// Writes a long text out in pieces, with turns for other requests between them.
import type { MemoryReservation } from './response-memory.ts'

/** Characters of one piece, approximately. */
const PIECE_LENGTH = 1024 * 1024
/** Characters between two turns for other requests: some 5 ms where each of them has to be worked out. */
const TURN_LENGTH = 256 * 1024

/** UTF-8 of a text whose parts are worked out one by one; counted in `held`, which may refuse it. */
export async function writePieces(parts: Iterable<string>, held: MemoryReservation): Promise<Buffer[]> {
  const pieces: Buffer[] = []
  let waiting: string[] = []
  let [length, lengthOfTurn] = [0, 0]
  for (const part of parts) {
    waiting.push(part)
    length += part.length
    lengthOfTurn += part.length
    if (length >= PIECE_LENGTH) {
      pieces.push(toPiece(waiting, held))
      waiting = []
      length = 0
    }
    if (lengthOfTurn < TURN_LENGTH) continue
    await nextTurn()
    lengthOfTurn = 0
  }
  if (length > 0) pieces.push(toPiece(waiting, held))
  return pieces
}

/** Lets everything else that waits for this thread go first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function toPiece(parts: readonly string[], held: MemoryReservation): Buffer {
  const piece = Buffer.from(parts.join(''))
  held.add(piece.byteLength)
  return piece
}
