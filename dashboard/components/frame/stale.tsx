// Says at the top of the page since when nothing is new, while the server does not tell what changed.
import { useContext } from 'preact/hooks'
import { LiveContext, useLive } from '../../data/use-live.ts'
import { frameText } from '../../texts/frame.ts'
import { shownText } from '../../texts/shown.ts'
import { Icon } from '../content/icon.tsx'
import { Time } from '../content/time.tsx'
import { Button } from '../controls/button.tsx'

export function Stale() {
  const live = useContext(LiveContext)
  const error = useLive((state) => state.error)
  const heardAt = useLive((state) => state.heardAt)
  return (
    <div class="stale" role="status">
      {error && (
        <div class="banner">
          <Icon name="triangle-alert" />
          <p>
            {error.message}{' '}
            {heardAt !== undefined && (
              <>
                {frameText.staleSince} <Time at={new Date(heardAt).toISOString()} />.
              </>
            )}
          </p>
          <Button kind="quiet" icon="rotate-cw" onClick={() => live?.askNow()}>
            {shownText.again}
          </Button>
        </div>
      )}
    </div>
  )
}
