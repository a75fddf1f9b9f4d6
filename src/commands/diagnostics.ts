// Creates the diagnostics logger of a server: JSON lines for operators, on standard error.
import { pino, type DestinationStream } from 'pino'
import { toDescription } from '../store/describe-error.ts'

/** Writes to standard error; tests pass another destination. */
export function newDiagnostics(level: string, to: DestinationStream = standardError()) {
  return pino({ level, serializers: { err: toDescription } }, to)
}

/**
 * Standard error that drops lines which cannot be written, for example to a file on a full disk. Otherwise such a line would block
 * and then end the process.
 */
function standardError(): DestinationStream {
  let to: DestinationStream | undefined
  const open = () => {
    const opened = pino.destination(2)
    opened.on('error', ({ code }: { readonly code?: unknown }) => {
      // The reader of a closed pipe does not come back, so it is not reopened.
      if (code === 'EPIPE') return
      opened.destroy()
      if (to === opened) to = undefined
    })
    return opened
  }
  return { write: (line) => (to ??= open()).write(line) }
}
