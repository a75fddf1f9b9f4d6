// Events: those that arrive, entries that could not be applied, and what became of a request.
import { useState } from 'preact/hooks'
import { Badge } from '../../components/content/badge.tsx'
import { Button } from '../../components/controls/button.tsx'
import { Page } from '../../components/frame/page.tsx'
import { useAddress } from '../../data/address.ts'
import { useWorkspace } from '../../data/session.ts'
import { useLive } from '../../data/use-live.ts'
import { eventsText } from '../../texts/people/events.ts'
import { RequestDialog } from './find-request.tsx'
import { LiveEvents } from './live.tsx'
import { ParkedEntries } from './parked.tsx'

export default function Events() {
  const { may, page } = useWorkspace()
  const address = useAddress()
  const [isAsking, setAsking] = useState(false)
  const tab = address.get('tab') === 'parked' && may('parked.read') ? 'parked' : 'live'
  const find = may('requests.read') && (
    <Button icon="search" onClick={() => setAsking(true)}>
      {eventsText.findRequest}
    </Button>
  )
  const close = () => {
    setAsking(false)
    address.set({ request: undefined })
  }
  return (
    <Page title={eventsText.title} lead={eventsText.lead} actions={find}>
      <nav class="tabs" aria-label={eventsText.title}>
        <a class="tab" href={page('events')} aria-current={tab === 'live' ? 'page' : undefined}>
          {eventsText.tabs.live}
        </a>
        {may('parked.read') && (
          <a class="tab" href={`${page('events')}?tab=parked`} aria-current={tab === 'parked' ? 'page' : undefined}>
            {eventsText.tabs.parked}
            <ParkedCount />
          </a>
        )}
      </nav>
      {tab === 'parked' ? <ParkedEntries /> : <LiveEvents />}
      {(isAsking || address.get('request') !== undefined) && <RequestDialog onClose={close} />}
    </Page>
  )
}

function ParkedCount() {
  const parked = useLive(({ document }) => document?.parked ?? 0)
  return parked > 0 ? <Badge kind="warn">{parked}</Badge> : null
}
