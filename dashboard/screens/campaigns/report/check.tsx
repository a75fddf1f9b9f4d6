// Checks the numbers of a campaign against its facts: how far the recount is, and what it found. It goes on without this page.
import { useEffect, useState } from 'preact/hooks'
import { Card } from '../../../components/content/card.tsx'
import { Notice } from '../../../components/content/notice.tsx'
import { Failure, Shown } from '../../../components/content/shown.tsx'
import { Table, type Column } from '../../../components/content/table.tsx'
import { Time } from '../../../components/content/time.tsx'
import { Button } from '../../../components/controls/button.tsx'
import type { AnswerOf } from '../../../data/contracts.ts'
import { useData, useQuery } from '../../../data/queries.ts'
import { reportText } from '../../../texts/campaigns/report.ts'
import { formatDay } from '../../../texts/format.ts'
import type { Campaign } from './question.ts'

type Recount = NonNullable<AnswerOf<'GET', '/core-services/v1/campaigns/:campaign_id/recount'>['recount']>
type Difference = Recount['differences'][number]

const ASKED_EVERY_MS = 1_000

export function Check({ campaign }: { readonly campaign: Campaign }) {
  const { client } = useData()
  const [error, setError] = useState<Error | undefined>(undefined)
  const { campaign_id } = campaign
  const found = useQuery({
    key: ['recount', campaign_id],
    ask: (asked, signal) =>
      asked.get('/core-services/v1/campaigns/:campaign_id/recount', { path: { campaign_id }, signal }),
  })
  const recount = found.state === 'filled' ? found.answer.recount : null
  const isUnderWay = recount?.state === 'waiting' || recount?.state === 'running'
  const { again } = found
  useEffect(() => {
    if (!isUnderWay) return undefined
    const timer = setInterval(again, ASKED_EVERY_MS)
    return () => clearInterval(timer)
  }, [isUnderWay, again])
  const start = async () => {
    setError(undefined)
    try {
      await client.post('/core-services/v1/campaigns/:campaign_id/recount', { path: { campaign_id } })
      again()
    } catch (refusal) {
      setError(refusal as Error)
    }
  }
  return (
    <Card
      title={reportText.check}
      lead={reportText.checkLead}
      actions={
        <Button icon="list-checks" isDisabled={isUnderWay} onClick={() => void start()}>
          {recount === null ? reportText.check : reportText.checkAgain}
        </Button>
      }
    >
      {error && <Failure error={error} />}
      <Shown of={found} lines={1}>
        {({ recount: shown }) => shown && <Progress recount={shown} />}
      </Shown>
    </Card>
  )
}

function Progress({ recount }: { readonly recount: Recount }) {
  const { state, counted_users: counted, all_users: all } = recount
  switch (state) {
    case 'waiting':
      return <p role="status">{reportText.checkWaits}</p>
    case 'running':
      return (
        <div class="stack" role="status">
          <p>{reportText.checkRuns(counted, all)}</p>
          <progress value={counted} max={Math.max(1, all)} aria-label={reportText.check} />
        </div>
      )
    case 'failed':
      return <Notice kind="bad">{recount.problem}</Notice>
    case 'finished':
      return <Result recount={recount} />
  }
}

function Result({ recount }: { readonly recount: Recount }) {
  const { compared_numbers: compared, differing_numbers: differing, differences, finished_at: finishedAt } = recount
  return (
    <div class="stack">
      <Notice kind={differing === 0 ? 'good' : 'bad'}>
        <p role="status">
          {differing === 0 ? reportText.checkEqual(compared) : reportText.checkDiffers(differing, compared)}
        </p>
        <p class="note">
          {reportText.checkOver} <Time at={finishedAt} /> {reportText.by} {recount.requested_by.replace(/^person:/, '')}
        </p>
      </Notice>
      {differences.length > 0 && (
        <Table
          caption={reportText.checkFirst}
          columns={columnsOfDifferences()}
          rows={differences}
          keyOf={(difference) => JSON.stringify(difference)}
        />
      )}
    </div>
  )
}

function columnsOfDifferences(): Column<Difference>[] {
  return [
    {
      title: reportText.checkNumber,
      cell: ({ metric, group, platform, locale, variation }) => (
        <>
          <code>{metric}</code>
          <span class="under note">{[group, platform, locale, variation].filter(Boolean).join(' · ')}</span>
        </>
      ),
    },
    { title: reportText.day, isTight: true, cell: ({ date }) => formatDay(date) },
    {
      title: reportText.stored,
      isNumber: true,
      cell: ({ stored }) => reportText.occurrences(stored.users, stored.occurrences),
    },
    {
      title: reportText.counted,
      isNumber: true,
      cell: ({ counted }) => reportText.occurrences(counted.users, counted.occurrences),
    },
  ]
}
