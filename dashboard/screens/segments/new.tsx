// A new segment: its name, its conditions, and how many people they hold for while one writes them.
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { toast } from '../../components/content/toasts.tsx'
import { LinkButton } from '../../components/controls/button.tsx'
import { Page } from '../../components/frame/page.tsx'
import { keepDraft, typedSince, useDraft } from '../../data/forms/drafts.ts'
import { useData } from '../../data/queries.ts'
import { useSession, useWorkspace } from '../../data/session.ts'
import { formText } from '../../texts/form.ts'
import { segmentsText } from '../../texts/segments.ts'
import { NO_CONDITIONS } from './conditions/condition-form.ts'
import { SEGMENT_DRAFT, toEditedDraft } from './segment.tsx'
import { SegmentForm, toSegmentFields, type SegmentDraft } from './segment-form.tsx'

export const NEW_SEGMENT: SegmentDraft = { name: '', where: NO_CONDITIONS }

export default function NewSegment() {
  const { page } = useWorkspace()
  const { route } = useLocation()
  const draft = useDraft('segment', NEW_SEGMENT)
  const create = useCreateSegment()
  const send = async () => {
    const sent = draft.value
    const segment = await create(sent)
    const made = page('segments', segment.segment_id)
    const typed = typedSince(sent, draft.latest())
    if (typed) keepDraft(made, SEGMENT_DRAFT, { ...toEditedDraft(segment), ...typed })
    draft.forget()
    toast(segmentsText.created)
    route(made)
  }
  return (
    <Page
      title={segmentsText.create}
      lead={segmentsText.newLead}
      parent={{ href: page('segments'), title: segmentsText.title }}
    >
      <SegmentForm
        draft={draft.value}
        onChange={draft.change}
        send={send}
        submit={segmentsText.create}
        others={<LinkButton href={page('segments')}>{formText.cancel}</LinkButton>}
      />
    </Page>
  )
}

/** Creates it once, however often the same draft is sent. */
export function useCreateSegment() {
  const { client } = useData()
  const { person } = useSession()
  const [idempotencyKey] = useState(() => crypto.getRandomValues(new Uint32Array(4)).join('-'))
  return (draft: SegmentDraft) => {
    const body = { ...toSegmentFields(draft), created_by: person.email }
    return client.post('/core-services/v1/segments', { body, idempotencyKey })
  }
}
