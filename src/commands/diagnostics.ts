// What operators read while a server runs, line by line, and how errors look there.
import { pino, type DestinationStream } from 'pino'
import { toDescription } from '../store/describe-error.ts'

/** Writes to standard error, or where a test reads. */
export function newDiagnostics(level: string, to: DestinationStream = standardError()) {
  return pino({ level, serializers: { err: toDescription } }, to)
}

/**
 * Standard error without the lines that it does not take, as when it is a file on a full disk. Otherwise one such line would end
 * the process, which would first wait for room to write it, for as long as there is none.
 */
function standardError(): DestinationStream {
  let to: DestinationStream | undefined
  const open = () => {
    const opened = pino.destination(2)
    opened.on('error', ({ code }: { readonly code?: unknown }) => {
      // Nothing more is written to a pipe that nobody reads any more.
      if (code === 'EPIPE') return
      opened.destroy()
      if (to === opened) to = undefined
    })
    return opened
  }
  return { write: (line) => (to ??= open()).write(line) }
}
