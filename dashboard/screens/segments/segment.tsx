// One segment: its conditions, who is in it and why, and its end.
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { SegmentCondition } from '../../../src/core/segments/condition.ts'
import { Card } from '../../components/content/card.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Time } from '../../components/content/time.tsx'
import { toast } from '../../components/content/toasts.tsx'
import { Button } from '../../components/controls/button.tsx'
import { ConflictDialog } from '../../components/controls/conflict-dialog.tsx'
import { ConfirmDialog } from '../../components/controls/dialog.tsx'
import { Page } from '../../components/frame/page.tsx'
import { ApiError } from '../../data/api-error.ts'
import type { AnswerOf } from '../../data/contracts.ts'
import { getExactly, patchExactly } from '../../data/exact.ts'
import { useDraft } from '../../data/forms/drafts.ts'
import { useData, useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { countText, segmentsText } from '../../texts/segments.ts'
import { useNames } from './conditions/condition-choices.ts'
import { fromCondition, writeCondition } from './conditions/condition-form.ts'
import { Explanation } from './explanation.tsx'
import { SegmentForm, toSegmentFields, type SegmentDraft } from './segment-form.tsx'
import { sentenceOf } from './conditions/sentence.ts'

const URL = '/core-services/v1/segments/:segment_id'

type Segment = AnswerOf<'GET', typeof URL>

export default function SegmentPage({ segment_id }: { readonly segment_id: string }) {
  const { page } = useWorkspace()
  const [isDeleted, setDeleted] = useState(false)
  const segment = useQuery({
    key: ['segment', segment_id],
    isWanted: !isDeleted,
    ask: (client, signal) => getExactly(client, URL, { path: { segment_id }, signal }),
    topics: ['audit'],
  })
  if (segment.state === 'filled') return <EditedSegment segment={segment.answer} onDeleted={() => setDeleted(true)} />
  return (
    <Page title={segmentsText.title} parent={{ href: page('segments'), title: segmentsText.title }}>
      <Shown of={segment}>{() => null}</Shown>
    </Page>
  )
}

/** The key of what is typed on the page of a segment. */
export const SEGMENT_DRAFT = 'segment'

/** What is typed, and the version that it was begun from. */
interface EditedDraft extends SegmentDraft {
  readonly basis: string
}

/** What is typed, how it is saved, and what somebody else has saved meanwhile. */
function useEditedSegment(segment: Segment) {
  const { client, queries } = useData()
  const [other, setOther] = useState<Segment | undefined>(undefined)
  const { segment_id } = segment
  const path = { segment_id }
  const draft = useDraft<EditedDraft>(SEGMENT_DRAFT, toEditedDraft(segment))
  const show = (saved: Segment) => {
    queries.setQueryData([client.workspace, 'segment', segment_id], saved)
    draft.forget()
  }
  const save = async (seenAt: string) => {
    const sent = draft.value
    const body = { ...changedFields(segment, sent), if_updated_at: seenAt }
    const saved = await patchExactly(client, URL, { path, body })
    queries.setQueryData([client.workspace, 'segment', segment_id], saved)
    draft.settle(sent, toEditedDraft(saved))
    toast(segmentsText.saved)
  }
  const send = async () => {
    try {
      await save(draft.value.basis)
    } catch (error) {
      if (!isConflict(error)) throw error
      setOther(await getExactly(client, URL, { path }))
    }
  }
  const change = (value: SegmentDraft) => draft.change({ ...value, basis: draft.value.basis })
  return { draft, change, send, save, show, other, setOther }
}

function EditedSegment({ segment, onDeleted }: Omit<DeleteDialogProps, 'onClose'>) {
  const { page, may } = useWorkspace()
  const [isDeleting, setDeleting] = useState(false)
  const { draft, change, send, save, show, other, setOther } = useEditedSegment(segment)
  const actions = may('segments.write') && (
    <Button kind="danger" onClick={() => setDeleting(true)}>
      {segmentsText.delete}
    </Button>
  )
  return (
    <Page
      title={segment.name}
      lead={
        <>
          {segmentsText.madeBy(segment.created_by)}, <Time at={segment.created_at} />
        </>
      }
      actions={actions}
      parent={{ href: page('segments'), title: segmentsText.title }}
    >
      <SegmentForm
        draft={draft.value}
        onChange={change}
        send={send}
        submit={segmentsText.save}
        aside={
          <Card title={countText.explain} lead={countText.explainLead}>
            <Explanation where={writeCondition(draft.value.where)} />
          </Card>
        }
      />
      {other && (
        <Conflict
          mine={draft.value}
          other={other}
          keepMine={() => save(other.updated_at)}
          takeTheirs={() => show(other)}
          onClose={() => setOther(undefined)}
        />
      )}
      {isDeleting && (
        <DeleteDialog
          segment={segment}
          onDeleted={() => {
            draft.forget()
            onDeleted()
          }}
          onClose={() => setDeleting(false)}
        />
      )}
    </Page>
  )
}

interface DeleteDialogProps {
  readonly segment: Segment
  readonly onDeleted: () => void
  readonly onClose: () => void
}

function DeleteDialog({ segment: { segment_id, name }, onDeleted, onClose }: DeleteDialogProps) {
  const { client } = useData()
  const { page } = useWorkspace()
  const { route } = useLocation()
  const remove = async () => {
    await client.delete(URL, { path: { segment_id } })
    onDeleted()
    toast(segmentsText.deleted)
    route(page('segments'))
  }
  return (
    <ConfirmDialog title={segmentsText.delete} word={name} act={remove} onClose={onClose}>
      <p>{segmentsText.deleteLead}</p>
    </ConfirmDialog>
  )
}

interface ConflictProps {
  readonly mine: SegmentDraft
  readonly other: Segment
  readonly keepMine: () => Promise<unknown>
  readonly takeTheirs: () => void
  readonly onClose: () => void
}

function Conflict({ mine, other, ...choices }: ConflictProps) {
  const [own, saved] = [writeCondition(mine.where), writeCondition(toEditedDraft(other).where)]
  const names = useNames([own, saved])
  const parts = [
    { title: segmentsText.name, mine: mine.name, theirs: other.name },
    { title: segmentsText.conditions, mine: sentenceOf(own, names), theirs: sentenceOf(saved, names) },
  ]
  return <ConflictDialog savedAt={other.updated_at} parts={parts} {...choices} />
}

/** What the page of a segment begins with. */
export function toEditedDraft({ name, where, updated_at: basis }: Segment): EditedDraft {
  return { name, where: fromCondition(where as unknown as SegmentCondition), basis }
}

/** A condition that was not touched is not sent, and stays as it was written. */
function changedFields(segment: Segment, draft: SegmentDraft) {
  const { name, where } = toSegmentFields(draft)
  const isTouched = JSON.stringify(draft.where) !== JSON.stringify(toEditedDraft(segment).where)
  return { name, ...(isTouched && { where }) }
}

export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.details.some(({ field }) => field === 'if_updated_at')
}
