// Times, in the zone of the workspace. The exact one, with the zone, is in the title.
import { useEffect, useReducer } from 'preact/hooks'
import { formatAgo, formatExact, formatInstant } from '../../texts/format.ts'
import { useWorkspace } from '../../data/session.ts'
import { shownText } from '../../texts/shown.ts'

interface TimeProps {
  /** ISO 8601; null: never. */
  readonly at: string | null
}

/** «1 Mar 2026, 12:00». */
export function Time({ at }: TimeProps) {
  const { zone } = useWorkspace()
  if (at === null) return <span class="quiet-text">{shownText.never}</span>
  return (
    <time dateTime={at} title={formatExact(at, zone)}>
      {formatInstant(at, zone)}
    </time>
  )
}

const TICK_MS = 10_000

/** «3 minutes ago», which goes on by itself. */
export function Ago({ at }: TimeProps) {
  const { zone } = useWorkspace()
  const [, tick] = useReducer((ticks: number) => ticks + 1, 0)
  useEffect(() => {
    const timer = setInterval(() => tick(undefined), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  if (at === null) return <span class="quiet-text">{shownText.never}</span>
  return (
    <time dateTime={at} title={formatExact(at, zone)}>
      {formatAgo(at)}
    </time>
  )
}
