// Sends the message to a few addresses, and shows the reply of the server for each.
import { useState } from 'preact/hooks'
import { Icon } from '../../../../components/content/icon.tsx'
import { TextField } from '../../../../components/controls/field.tsx'
import { Form } from '../../../../components/controls/form.tsx'
import type { AnswerOf } from '../../../../data/contracts.ts'
import { useData } from '../../../../data/queries.ts'
import { useSession } from '../../../../data/session.ts'
import { campaignEditorText } from '../../../../texts/campaigns/editor.ts'

type Results = AnswerOf<'POST', '/core-services/v1/campaigns/:campaign_id/test'>['data']

interface TestSendProps {
  readonly campaignId: string
  /** Whose attributes the message has; undefined: nobody's. */
  readonly person: string | undefined
}

export function TestSend({ campaignId, person }: TestSendProps) {
  const { client } = useData()
  const { email } = useSession().person
  const [to, setTo] = useState(email)
  const [results, setResults] = useState<Results>([])
  const send = async () => {
    setResults([])
    const addresses = to.split(/[,;\s]+/).filter((address) => address !== '')
    const body = { to: addresses, ...(person !== undefined && { customer_id: person }) }
    const path = { campaign_id: campaignId }
    const { data } = await client.post('/core-services/v1/campaigns/:campaign_id/test', { path, body })
    setResults(data)
  }
  return (
    <section class="stack test-send" aria-label={campaignEditorText.testTitle}>
      <h3>{campaignEditorText.testTitle}</h3>
      <Form send={send} submit={campaignEditorText.testSend} submitKind="plain">
        <TextField
          name="to"
          label={campaignEditorText.testTo}
          hint={campaignEditorText.testHint}
          value={to}
          onInput={setTo}
        />
      </Form>
      {results.length > 0 && (
        <ul class="verdicts" role="status">
          {results.map(({ to: address, result, reply }) => (
            <li key={address} class={result === 'sent' ? 'holds' : undefined}>
              <Icon name={result === 'sent' ? 'check' : 'x'} />
              <span>
                {address}: {result === 'sent' ? campaignEditorText.testSent : campaignEditorText.testFailed}{' '}
                <span class="note">{reply}</span>
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
