// Adds codes to a coupon list from a file, with progress, and lists the uploads, which can be taken back.
import { useState } from 'preact/hooks'
import { Card } from '../../components/content/card.tsx'
import { Pager } from '../../components/content/pager.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { Time } from '../../components/content/time.tsx'
import { toast } from '../../components/content/toasts.tsx'
import { Button } from '../../components/controls/button.tsx'
import { ConfirmDialog } from '../../components/controls/dialog.tsx'
import { useAddress } from '../../data/address.ts'
import type { AnswerOf } from '../../data/contracts.ts'
import { useData, useQuery, useRefresh } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { couponUploadText } from '../../texts/coupons.ts'
import { formatCount } from '../../texts/format.ts'
import type { ListedCoupons } from './coupon-status.tsx'
import { UploadForm } from './upload-form.tsx'

const PER_PAGE = 10
/** In the address: beside the cursor of the codes on the same page. */
const CURSOR = 'uploads_before'

type CompletedUpload = AnswerOf<'GET', '/v1/coupon-list/:coupon_list_id/uploads'>['data'][number]

export function Uploads({ list }: { readonly list: ListedCoupons }) {
  const { may } = useWorkspace()
  const mayWrite = may('coupons.write')
  const path = { coupon_list_id: list._id }
  const before = useAddress().get(CURSOR)
  const [undone, setUndone] = useState<CompletedUpload | undefined>(undefined)
  const uploads = useQuery({
    key: ['coupon list', list._id, 'uploads', before],
    ask: (client, signal) => {
      const query = { limit: PER_PAGE, ...(before !== undefined && { before }) }
      return client.get('/v1/coupon-list/:coupon_list_id/uploads', { path, query, signal })
    },
    topics: ['audit'],
  })
  return (
    <div class="columns">
      {mayWrite && (
        <Card title={couponUploadText.title} lead={couponUploadText.lead}>
          {list.status === 'ACTIVE' ? (
            <UploadForm listId={list._id} />
          ) : (
            <p class="quiet-text">{couponUploadText.notActive}</p>
          )}
        </Card>
      )}
      <Card title={couponUploadText.uploads} lead={couponUploadText.uploadsLead} isFlush>
        <Shown of={uploads} empty={<p class="card-part quiet-text">{couponUploadText.noUploads}</p>}>
          {({ data, next_before: next }) => (
            <>
              <Table
                caption={couponUploadText.uploads}
                rows={data}
                keyOf={({ upload }) => upload}
                columns={columnsOfUploads(mayWrite ? setUndone : undefined)}
              />
              <Pager next={next} name={CURSOR} />
            </>
          )}
        </Shown>
      </Card>
      {undone && <Undo listId={list._id} upload={undone} onClose={() => setUndone(undefined)} />}
    </div>
  )
}

function columnsOfUploads(undo: ((upload: CompletedUpload) => void) | undefined): Column<CompletedUpload>[] {
  return [
    { title: couponUploadText.when, cell: ({ added_at: at }) => <Time at={at} /> },
    {
      title: couponUploadText.who,
      cell: ({ by }) => by?.replace(/^person:/, '') ?? couponUploadText.unknown,
    },
    { title: couponUploadText.codes, cell: ({ added }) => countOf(added), isNumber: true },
    ...(undo
      ? [
          {
            title: couponUploadText.actions,
            isTight: true,
            cell: (upload: CompletedUpload) => (
              <span class="row-actions">
                <Button kind="quiet" icon="trash-2" label={couponUploadText.undo} onClick={() => undo(upload)} />
              </span>
            ),
          },
        ]
      : []),
  ]
}

interface UndoProps {
  readonly listId: string
  readonly upload: CompletedUpload
  readonly onClose: () => void
}

function Undo({ listId, upload, onClose }: UndoProps) {
  const { client } = useData()
  const refresh = useRefresh()
  const act = async () => {
    const options = { path: { coupon_list_id: listId }, body: { upload: upload.upload } }
    const answer = await client.delete('/v1/coupon-list/:coupon_list_id/coupons', options)
    await refresh('coupon list', listId)
    toast(couponUploadText.undone(answer.deleted))
    if (answer.not_deleted_count > 0) toast(couponUploadText.kept(answer.not_deleted_count))
  }
  return (
    <ConfirmDialog title={couponUploadText.undo} isDangerous act={act} onClose={onClose}>
      <p>{couponUploadText.undoLead(countOf(upload.added))}</p>
    </ConfirmDialog>
  )
}

function countOf(added: number | null): string {
  return added === null ? couponUploadText.unknown : formatCount(added)
}
