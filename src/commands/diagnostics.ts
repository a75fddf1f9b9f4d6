// What operators read while a server runs, line by line, and how errors look in it.
import { pino, type DestinationStream } from 'pino'
import { toDescription } from '../store/describe-error.ts'

/** Writes to standard error, or where a test reads. */
export function newDiagnostics(level: string, to: DestinationStream = pino.destination(2)) {
  return pino({ level, serializers: { err: toDescription } }, to)
}
