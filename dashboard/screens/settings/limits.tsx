// Settings › Limits: how much API keys have used of each limit in the window under way.
import { useEffect, useRef } from 'preact/hooks'
import { Bar } from '../../components/content/bar.tsx'
import { Card } from '../../components/content/card.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { Ago } from '../../components/content/time.tsx'
import { LinkButton } from '../../components/controls/button.tsx'
import { SettingsPage } from '../../components/frame/settings-page.tsx'
import type { AnswerOf } from '../../data/contracts.ts'
import { useQuery, useRefresh } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { limitsText, workspaceText } from '../../texts/settings/workspace-settings.ts'

type UsedLimit = AnswerOf<'GET', '/v1/workspaces/:Workspace_ID/limits'>['data'][number]

const AGAIN_MS = 10_000
/** From which part on a limit is nearly used. */
const NEARLY = 0.8

export default function Limits() {
  const { may, page } = useWorkspace()
  const limits = useQuery({
    key: ['limits'],
    ask: (client, signal) => client.get('/v1/workspaces/:Workspace_ID/limits', { signal }),
    topics: ['audit'],
  })
  const refresh = useRefresh()
  const fetchAgain = useRef(refresh)
  fetchAgain.current = refresh
  // What is used changes by itself, and no topic says so.
  useEffect(() => {
    const ask = () => document.visibilityState === 'visible' && void fetchAgain.current('limits')
    const timer = setInterval(ask, AGAIN_MS)
    return () => clearInterval(timer)
  }, [])
  const change = may('settings.write') && (
    <LinkButton href={page('settings', 'workspace')} icon="pencil">
      {limitsText.change}
    </LinkButton>
  )
  return (
    <SettingsPage title={limitsText.title} lead={limitsText.lead} actions={change}>
      <Card isFlush>
        <Shown of={limits}>{({ data }) => <UsedLimits limits={data} />}</Shown>
      </Card>
    </SettingsPage>
  )
}

function UsedLimits({ limits }: { readonly limits: readonly UsedLimit[] }) {
  return <Table caption={limitsText.title} rows={limits} keyOf={({ limit }) => limit} columns={columnsOfLimits()} />
}

function columnsOfLimits(): Column<UsedLimit>[] {
  return [
    { title: limitsText.limit, cell: ({ limit }) => nameOf(limit) },
    { title: limitsText.used, cell: (limit) => <Used limit={limit} /> },
    { title: limitsText.window, cell: ({ window }) => limitsText.windows[window], isTight: true },
    { title: limitsText.operation, cell: ({ operation }) => operation !== null && <code>{operation}</code> },
    { title: limitsText.resets, cell: ({ resets_at: at }) => <Ago at={at} />, isTight: true },
  ]
}

function Used({ limit: { used, units } }: { readonly limit: UsedLimit }) {
  const text = limitsText.usedOf(used, units)
  const part = units === 0 ? 1 : used / units
  return (
    <span class="measure">
      <span class="number">{text}</span>
      <Bar part={part} label={`${limitsText.used}: ${text}`} isWarning={part >= NEARLY} />
    </span>
  )
}

/** Without its window, which has a column of its own. */
function nameOf(limit: UsedLimit['limit']): string {
  return workspaceText.limitNames[`limits.${limit}`].replace(/, per .*/, '')
}
