// Looks up what became of a request by its id, which stands in the address.
import { useState } from 'preact/hooks'
import { Badge, type BadgeKind } from '../../components/content/badge.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Dialog } from '../../components/controls/dialog.tsx'
import { TextField } from '../../components/controls/field.tsx'
import { Form } from '../../components/controls/form.tsx'
import { useAddress } from '../../data/address.ts'
import type { AnswerOf } from '../../data/contracts.ts'
import { useQuery } from '../../data/queries.ts'
import { eventsText } from '../../texts/people/events.ts'
import { formatCount } from '../../texts/format.ts'

type Fate = AnswerOf<'GET', '/v1/event/:Workspace_ID/requests/:request_id'>

const KIND_OF: { readonly [status in Fate['status']]: BadgeKind } = {
  accepted: 'accent',
  processed: 'good',
  parked: 'bad',
}

export function RequestDialog({ onClose }: { readonly onClose: () => void }) {
  const address = useAddress()
  const id = address.get('request')
  const [typed, setTyped] = useState(id ?? '')
  const request = useQuery({
    key: ['requests', id],
    isWanted: id !== undefined,
    ask: (client, signal) => {
      return client.get('/v1/event/:Workspace_ID/requests/:request_id', { path: { request_id: id ?? '' }, signal })
    },
    topics: ['events', 'parked'],
    keepsPrevious: false,
  })
  return (
    <Dialog title={eventsText.findRequest} onClose={onClose}>
      <p class="quiet-text">{eventsText.findLead}</p>
      <Form
        send={async () => address.set({ request: typed.trim() })}
        submit={eventsText.find}
        isDisabled={typed.trim() === ''}
      >
        <TextField name="request_id" label={eventsText.requestId} value={typed} onInput={setTyped} isCode takesFocus />
      </Form>
      {id !== undefined && <Shown of={request}>{(fate) => <RequestFacts fate={fate} />}</Shown>}
    </Dialog>
  )
}

function RequestFacts({ fate }: { readonly fate: Fate }) {
  const { request } = eventsText
  return (
    <dl class="facts">
      <dt>{request.status}</dt>
      <dd>
        <Badge kind={KIND_OF[fate.status]}>{eventsText.statuses[fate.status]}</Badge>
      </dd>
      <dt>{request.events}</dt>
      <dd class="number">{formatCount(fate.events)}</dd>
      <dt>{request.duplicates}</dt>
      <dd class="number">{formatCount(fate.duplicates)}</dd>
      {fate.not_counted > 0 && (
        <>
          <dt>{request.notCounted}</dt>
          <dd class="number">{formatCount(fate.not_counted)}</dd>
        </>
      )}
      {fate.created_customers !== undefined && (
        <>
          <dt>{request.created}</dt>
          <dd class="number">{formatCount(fate.created_customers)}</dd>
        </>
      )}
      {fate.error !== undefined && (
        <>
          <dt>{request.error}</dt>
          <dd>{fate.error}</dd>
        </>
      )}
      {fate.warnings?.map(({ field, problem }) => (
        <>
          <dt>{request.warnings}</dt>
          <dd>
            <code>{field}</code> {problem}
          </dd>
        </>
      ))}
    </dl>
  )
}
