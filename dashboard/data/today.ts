// The calendar day of the workspace on which the screen was opened.
import { useState } from 'preact/hooks'
import { localDay } from '../../src/core/time-zone.ts'
import { useWorkspace } from './session.ts'

/** As days since 1970-01-01. */
export function useToday(): number {
  const { zone } = useWorkspace()
  const [now] = useState(() => Date.now())
  return localDay(zone, now)
}
