// Creates the diagnostics logger of a server, on standard error: JSON lines for programs, or readable lines on a terminal.
import { pino, type DestinationStream } from 'pino'
import { toDescription } from '../store/describe-error.ts'

/** Writes JSON lines. */
export function newDiagnostics(level: string, to: DestinationStream) {
  return pino({ level, serializers: { err: toDescription } }, to)
}

/** Writes to standard error. Loads pino-pretty only for a terminal. */
export async function openDiagnostics(level: string) {
  const to = standardError()
  if (!process.stderr.isTTY) return newDiagnostics(level, to)
  const { prettyFactory } = await import('pino-pretty')
  const toReadable = prettyFactory({
    colorize: true,
    singleLine: true,
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss.l',
  })
  return newDiagnostics(level, { write: (line) => to.write(toReadable(line)) })
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
