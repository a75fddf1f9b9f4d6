// Settings › Account › APIs: the workspace id and the keys of the two tiles, as the API document describes them.
import { useState } from 'preact/hooks'
import type { KeyTile } from '../../../src/core/accounts/key-tile.ts'
import { Card } from '../../components/content/card.tsx'
import { CodeBlock, Copied } from '../../components/content/copy.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Ago, Time } from '../../components/content/time.tsx'
import { Button } from '../../components/controls/button.tsx'
import { SettingsPage } from '../../components/frame/settings-page.tsx'
import type { AnswerOf } from '../../data/contracts.ts'
import { useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { apisText } from '../../texts/settings.ts'
import { curlOf } from './apis/curl.ts'
import { NewKey } from './apis/new-key.tsx'

type ApiKey = AnswerOf<'GET', '/v1/workspaces/:Workspace_ID/keys'>['data'][number]

export default function Apis() {
  const { id } = useWorkspace()
  const [replaced, setReplaced] = useState<KeyTile | undefined>(undefined)
  const keys = useQuery({
    key: ['keys'],
    ask: (client, signal) => client.get('/v1/workspaces/:Workspace_ID/keys', { signal }),
    topics: ['audit'],
  })
  return (
    <SettingsPage title={apisText.title} lead={apisText.lead}>
      <Card title={apisText.workspaceId} lead={apisText.workspaceIdLead}>
        <Copied text={id} what={apisText.workspaceId} />
      </Card>
      <Shown of={keys}>
        {({ data }) => (
          <div class="columns">
            {data.map((key) => (
              <Tile key={key.tile} apiKey={key} replace={() => setReplaced(key.tile)} />
            ))}
          </div>
        )}
      </Shown>
      <Card title={apisText.tryIt} lead={apisText.curlLead}>
        <CodeBlock text={curlOf(id, 'KEY')} what="curl" />
      </Card>
      {replaced && <NewKey tile={replaced} onClose={() => setReplaced(undefined)} onMade={keys.again} />}
    </SettingsPage>
  )
}

function Tile({ apiKey, replace }: { readonly apiKey: ApiKey; readonly replace: () => void }) {
  const { may } = useWorkspace()
  const { title, lead } = apisText.tiles[apiKey.tile]
  const actions = may('keys.write') && <Button onClick={replace}>{apisText.generate}</Button>
  return (
    <Card title={title} lead={lead} actions={actions}>
      <dl class="facts">
        <dt>{apisText.made}</dt>
        <dd>
          {apiKey.created_at === null ? apisText.unknown : <Time at={apiKey.created_at} />}
          {apiKey.created_by !== null && ` ${apisText.madeBy} ${nameOf(apiKey.created_by)}`}
        </dd>
        <dt>{apisText.lastUsed}</dt>
        <dd>
          <Ago at={apiKey.last_used_at} />
        </dd>
        {apiKey.previous && (
          <>
            <dt>{apisText.oldKey}</dt>
            <dd>
              {apisText.oldKeyUntil} <Time at={apiKey.previous.valid_until} />
            </dd>
          </>
        )}
      </dl>
    </Card>
  )
}

/** `person:ada@example.com` as people read it. */
function nameOf(actor: string): string {
  return actor.replace(/^person:/, '')
}
