// Settings › System: versions, readiness and sizes of the server, for people who look after it.
import { Badge } from '../../components/content/badge.tsx'
import { Card } from '../../components/content/card.tsx'
import { CodeBlock } from '../../components/content/copy.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Ago } from '../../components/content/time.tsx'
import { Button } from '../../components/controls/button.tsx'
import { SettingsPage } from '../../components/frame/settings-page.tsx'
import type { AnswerOf } from '../../data/contracts.ts'
import { useQuery } from '../../data/queries.ts'
import { systemText } from '../../texts/system.ts'
import { formatBytes } from '../../texts/format.ts'

type SystemBody = AnswerOf<'GET', '/v1/workspaces/:Workspace_ID/system'>

export default function System() {
  const system = useQuery({
    key: ['system'],
    ask: (client, signal) => client.get('/v1/workspaces/:Workspace_ID/system', { signal }),
  })
  const again = (
    <Button icon="rotate-cw" onClick={system.again}>
      {systemText.again}
    </Button>
  )
  return (
    <SettingsPage title={systemText.title} lead={systemText.lead} actions={again}>
      <Shown of={system}>
        {(body) => (
          <div class="columns">
            <Process body={body} />
            <StoreAndLog body={body} />
            <Card title={systemText.backup} lead={systemText.backups[body.store.kind].lead}>
              <CodeBlock text={systemText.backups[body.store.kind].command} what={systemText.backup} />
            </Card>
          </div>
        )}
      </Shown>
    </SettingsPage>
  )
}

function Process({ body }: { readonly body: SystemBody }) {
  const isReady = (
    <Badge kind={body.is_ready ? 'good' : 'bad'} icon={body.is_ready ? 'check' : 'circle-alert'}>
      {body.is_ready ? systemText.ready : systemText.notReady}
    </Badge>
  )
  return (
    <Card title={systemText.process} lead={systemText.processLead} actions={isReady}>
      {body.problems.length > 0 && (
        <ul>
          {body.problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
      <dl class="facts">
        <dt>{systemText.version}</dt>
        <dd>{body.version}</dd>
        <dt>{systemText.node}</dt>
        <dd>{body.node_version}</dd>
        <dt>{systemText.roles}</dt>
        <dd>{body.roles.map((role) => systemText.roleNames[role]).join(', ')}</dd>
        <dt>{systemText.started}</dt>
        <dd>
          <Ago at={body.started_at} />
        </dd>
        <dt>{systemText.memory}</dt>
        <dd>{formatBytes(body.memory_bytes)}</dd>
      </dl>
    </Card>
  )
}

function StoreAndLog({ body: { store, log } }: { readonly body: SystemBody }) {
  return (
    <Card title={systemText.storage} lead={systemText.storageLead}>
      <dl class="facts">
        <dt>{systemText.store}</dt>
        <dd>{systemText.kinds[store.kind]}</dd>
        <dt>{systemText.schema}</dt>
        <dd>{store.schema}</dd>
        <dt>{systemText.storeSize}</dt>
        <dd>{formatBytes(store.bytes)}</dd>
        <dt>{systemText.log}</dt>
        <dd>{systemText.kinds[log.kind]}</dd>
        {log.bytes !== null && (
          <>
            <dt>{systemText.logSize}</dt>
            <dd>{formatBytes(log.bytes)}</dd>
          </>
        )}
        <dt>{systemText.lag}</dt>
        <dd>{systemText.lagValue(log.lag_entries, log.lag_seconds)}</dd>
      </dl>
    </Card>
  )
}
