// What a check of a sender finds out: connection, authentication, and what DNS says.
import { useState } from 'preact/hooks'
import { Badge, type BadgeKind } from '../../../components/content/badge.tsx'
import { Card } from '../../../components/content/card.tsx'
import { Failure } from '../../../components/content/shown.tsx'
import { Table, type Column } from '../../../components/content/table.tsx'
import { Button } from '../../../components/controls/button.tsx'
import type { AnswerOf } from '../../../data/contracts.ts'
import { useData } from '../../../data/queries.ts'
import type { IconName } from '../../../icons.ts'
import { checkText } from '../../../texts/settings/senders.ts'

type Check = AnswerOf<'POST', '/core-services/v1/senders/:sender_id/check'>['data'][number]

const LOOKS: { readonly [result in Check['result']]: { readonly kind: BadgeKind; readonly icon: IconName } } = {
  ok: { kind: 'good', icon: 'circle-check' },
  warning: { kind: 'warn', icon: 'triangle-alert' },
  failed: { kind: 'bad', icon: 'circle-alert' },
  unknown: { kind: 'plain', icon: 'info' },
}

export function Checks({ senderId }: { readonly senderId: string }) {
  const { client } = useData()
  const [checks, setChecks] = useState<readonly Check[] | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Error | undefined>(undefined)
  const run = async () => {
    setBusy(true)
    setError(undefined)
    try {
      const path = { sender_id: senderId }
      setChecks((await client.post('/core-services/v1/senders/:sender_id/check', { path })).data)
    } catch (refusal) {
      setError(refusal as Error)
    } finally {
      setBusy(false)
    }
  }
  const action = (
    <Button icon="mail-check" isBusy={isBusy} onClick={() => void run()}>
      {checks ? checkText.again : checkText.run}
    </Button>
  )
  return (
    <Card title={checkText.title} lead={checkText.lead} actions={action} isFlush>
      <div role="status">{isBusy && <p class="card-part quiet-text">{checkText.running}</p>}</div>
      {error && (
        <div class="card-part">
          <Failure error={error} />
        </div>
      )}
      {checks && !isBusy && (
        <Table caption={checkText.title} rows={checks} keyOf={({ check }) => check} columns={columnsOfChecks()} />
      )}
    </Card>
  )
}

function columnsOfChecks(): Column<Check>[] {
  return [
    { title: checkText.check, cell: ({ check }) => checkText.checks[check], isTight: true },
    {
      title: checkText.result,
      cell: ({ result }) => <Badge {...LOOKS[result]}>{checkText.results[result]}</Badge>,
      isTight: true,
    },
    { title: checkText.detail, cell: ({ detail }) => detail },
  ]
}
