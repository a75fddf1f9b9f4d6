// What happens now: how many events arrive, and whether their processing keeps up.
import type { ComponentChildren } from 'preact'
import { Time } from '../../components/content/time.tsx'
import { useLive } from '../../data/use-live.ts'
import { formatCount } from '../../texts/format.ts'
import { homeText } from '../../texts/home.ts'

/** Below it, events are on the screen before one notices. */
const LAG_SECONDS_SHOWN = 2

export function Now() {
  const live = useLive(({ document }) => document)
  const lag = live?.lag_seconds ?? 0
  return (
    <div class="tiles">
      <NowTile name={homeText.eventsPerMinute} value={live && formatCount(live.events_per_minute)}>
        {homeText.eventsPerMinuteNote}
      </NowTile>
      <NowTile name={homeText.lag} value={live && homeText.lagValue(lag < LAG_SECONDS_SHOWN ? 0 : lag)}>
        {live && live.processed_until !== null && (
          <>
            {homeText.processedUntil} <Time at={live.processed_until} />
          </>
        )}
      </NowTile>
    </div>
  )
}

interface NowTileProps {
  readonly name: string
  /** Undefined until it is known. */
  readonly value: string | undefined
  readonly children: ComponentChildren
}

function NowTile({ name, value, children }: NowTileProps) {
  return (
    <div class="tile">
      <span class="tile-name">{name}</span>
      <span class="tile-value">{value ?? '–'}</span>
      <span class="note">{children}</span>
    </div>
  )
}
