// The optional field `if_updated_at` of updates, by which two people who edit the same do not overwrite each other's changes.
import type { Fault } from '../core/app-error.ts'
import { parseTimeValue } from '../core/time-value.ts'
import { Text } from './fields.ts'

const TIME_LENGTH_MAX = 64

export const IfUpdatedAt = Text(
  1,
  TIME_LENGTH_MAX,
  'The `updated_at` that you have seen. If it is another by now, nothing changes, and the response is 409 with the current one in ' +
    '`details`.',
)

/** The instant; undefined if none was sent. The field has no faults. */
export function toSeenAt(sent: string | undefined): number | undefined {
  return sent === undefined ? undefined : parseSeenAt(sent)
}

type Sent = { readonly if_updated_at?: string | undefined } | undefined

/** The faults of `if_updated_at`. */
export function seenFaults(body: Sent): Fault[] {
  const isWrong = body?.if_updated_at !== undefined && parseSeenAt(body.if_updated_at) === undefined
  return isWrong ? [{ field: 'if_updated_at', problem: 'must be the `updated_at` of a response' }] : []
}

/** The same, and the fault of a body in which it stands alone, for schemas that refuse only an empty body. */
export function changeFaults(body: Sent, changeable: readonly string[]): Fault[] {
  const isAlone = body && Object.keys(body).join() === 'if_updated_at'
  const alone = isAlone ? [{ field: 'body', problem: `must contain at least one of ${changeable.join(', ')}` }] : []
  return [...alone, ...seenFaults(body)]
}

function parseSeenAt(text: string): number | undefined {
  const value = parseTimeValue(text)
  return value?.kind === 'instant' ? value.ms : undefined
}
