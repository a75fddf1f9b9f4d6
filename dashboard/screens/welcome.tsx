// The end of the set-up: a request that works, and the first event, which appears by itself.
import { useState } from 'preact/hooks'
import { Card } from '../components/content/card.tsx'
import { CodeBlock, Copied } from '../components/content/copy.tsx'
import { Notice } from '../components/content/notice.tsx'
import { Failure } from '../components/content/shown.tsx'
import { Ago } from '../components/content/time.tsx'
import { Button, LinkButton } from '../components/controls/button.tsx'
import { Page } from '../components/frame/page.tsx'
import { useQuery } from '../data/queries.ts'
import { useWorkspace } from '../data/session.ts'
import { welcomeText } from '../texts/welcome.ts'
import { useNewestUser } from './home/newest-user.ts'
import { curlOf } from './settings/apis/curl.ts'
import { NewKey } from './settings/apis/new-key.tsx'

const DEMO = 'bin/tidings demo'

export default function Welcome() {
  const { id, may, page } = useWorkspace()
  const [key, setKey] = useState<string | undefined>(undefined)
  const [isAsking, setAsking] = useState(false)
  return (
    <Page title={welcomeText.title} lead={welcomeText.lead}>
      <Card title={welcomeText.send} lead={key === undefined ? welcomeText.printedKey : welcomeText.newKey}>
        <dl class="facts">
          <dt>{welcomeText.workspaceId}</dt>
          <dd>
            <Copied text={id} what={welcomeText.workspaceId} />
          </dd>
        </dl>
        <CodeBlock text={curlOf(id, key ?? welcomeText.keyPlace)} what="curl" />
        {may('keys.write') && key === undefined && (
          <div class="row">
            <Button onClick={() => setAsking(true)}>{welcomeText.generate}</Button>
            <span class="note">{welcomeText.generateNote}</span>
          </div>
        )}
        <FirstEvent />
      </Card>
      <div class="columns">
        <Card title={welcomeText.demo} lead={welcomeText.demoLead}>
          <CodeBlock text={DEMO} what={welcomeText.demo} />
        </Card>
        <Card title={welcomeText.next} lead={welcomeText.nextLead}>
          <div class="row">
            <LinkButton href={page('settings', 'apis')}>{welcomeText.keys}</LinkButton>
            <LinkButton href={page()}>{welcomeText.home}</LinkButton>
          </div>
        </Card>
      </div>
      {isAsking && <NewKey tile="data" onClose={() => setAsking(false)} onMade={setKey} />}
    </Page>
  )
}

/** Waits for the first event, then shows it. */
function FirstEvent() {
  const { page } = useWorkspace()
  const newest = useNewestUser()
  const [user] = newest.state === 'filled' ? newest.answer.data : []
  const customer = user?.customer_id ?? undefined
  const events = useQuery({
    key: ['newest event', customer],
    ask: (client, signal) =>
      client.get('/v1/event/:Workspace_ID', { query: { customer_id: customer ?? '', limit: 1 }, signal }),
    topics: ['events'],
    isWanted: customer !== undefined,
  })
  const [event] = events.state === 'filled' ? events.answer.data : []
  if (newest.state === 'failed') return <Failure error={newest.error} again={newest.again} />
  return (
    <div role="status">
      {event ? (
        <Notice kind="good">
          <p>
            {welcomeText.arrived(event.action, customer ?? '')} <Ago at={event.received_at} />.
          </p>
          <div class="row">
            <LinkButton kind="main" href={page()}>
              {welcomeText.home}
            </LinkButton>
          </div>
        </Notice>
      ) : (
        <p class="notice warn waiting-dot">{welcomeText.waiting}</p>
      )}
    </div>
  )
}
