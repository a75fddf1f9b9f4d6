// A response of any length: lines of JSON that are read while they are sent, so that an export takes little memory.
import type { Slots } from '../slots.ts'

/** The media type of such a response. */
export const LINES_TYPE = 'application/x-ndjson'

/** An operation may return it instead of a value. */
export class LineStream {
  /** Read as fast as the client takes it. If it throws, the connection is cut: a client must not take a part for the whole. */
  readonly pieces: AsyncIterable<Uint8Array>
  /** To be called when the response is sent or given up; may be called again. */
  readonly close: () => void
  readonly type: string

  constructor(pieces: AsyncIterable<Uint8Array>, close: () => void, type = LINES_TYPE) {
    this.pieces = pieces
    this.close = close
    this.type = type
  }
}

/** Streams values as lines, in a slot of the workspace. Throws AppError `unavailable` if no slot is free. */
export function streamLines(
  { slots, workspaceId, type }: { readonly slots: Slots; readonly workspaceId: string; readonly type?: string },
  portions: AsyncIterable<readonly string[]>,
): LineStream {
  const close = slots.take(workspaceId)
  return new LineStream(toPieces(portions), close, type)
}

async function* toPieces(portions: AsyncIterable<readonly string[]>): AsyncGenerator<Uint8Array> {
  for await (const lines of portions) if (lines.length > 0) yield Buffer.from(`${lines.join('\n')}\n`)
}
