// Times, in the zone of the workspace. The exact one, with the zone, is in the title.
import { useEffect, useState } from 'preact/hooks'
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
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  if (at === null) return <span class="quiet-text">{shownText.never}</span>
  return (
    <time dateTime={at} title={formatExact(at, zone)}>
      {formatAgo(at, now)}
    </time>
  )
}
