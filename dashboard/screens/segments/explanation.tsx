// Why one person is in a segment or not: the verdict of each condition, as it is edited.
import { useState } from 'preact/hooks'
import type { SegmentCondition, SegmentLeaf } from '../../../src/core/segments/condition.ts'
import { Icon } from '../../components/content/icon.tsx'
import { Notice } from '../../components/content/notice.tsx'
import { TextField } from '../../components/controls/field.tsx'
import { Form } from '../../components/controls/form.tsx'
import type { AnswerOf } from '../../data/contracts.ts'
import { postExactly } from '../../data/exact.ts'
import { useData } from '../../data/queries.ts'
import { countText } from '../../texts/segments.ts'
import { useNames } from './conditions/condition-choices.ts'
import { leafSentence } from './conditions/sentence.ts'

type Verdicts = AnswerOf<'POST', '/core-services/v1/segments/explain'>

export function Explanation({ where }: { readonly where: SegmentCondition }) {
  const { client } = useData()
  const [customerId, setCustomerId] = useState('')
  const [verdicts, setVerdicts] = useState<Verdicts | undefined>(undefined)
  const names = useNames([where])
  const send = async () => {
    setVerdicts(undefined)
    const body = { customer_id: customerId, where: { ...where } }
    setVerdicts(await postExactly(client, '/core-services/v1/segments/explain', { body }))
  }
  return (
    <>
      <Form send={send} submit={countText.check} submitKind="plain">
        <TextField name="customer_id" label={countText.customer} value={customerId} onInput={setCustomerId} isCode />
      </Form>
      {verdicts && (
        <div class="stack" role="status">
          <Notice kind={verdicts.in ? 'good' : 'warn'}>
            <p>{verdicts.in ? countText.isIn(verdicts.customer_id) : countText.isNotIn(verdicts.customer_id)}</p>
          </Notice>
          <ul class="verdicts">
            {verdicts.conditions.map(({ path, condition, holds }) => (
              <li key={path} class={holds ? 'holds' : undefined}>
                <Icon name={holds ? 'check' : 'x'} />
                <span>
                  {leafSentence(condition as unknown as SegmentLeaf, names)}{' '}
                  <span class="note">({holds ? countText.holds : countText.fails})</span>
                </span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  )
}
