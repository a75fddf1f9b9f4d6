// Sends a file with codes. Shows how much is sent, can be cancelled, and names the lines that are no codes.
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { Fault } from '../../../src/core/app-error.ts'
import { Notice } from '../../components/content/notice.tsx'
import { Failure } from '../../components/content/shown.tsx'
import { Table } from '../../components/content/table.tsx'
import { Button } from '../../components/controls/button.tsx'
import { ApiError } from '../../data/api-error.ts'
import type { AnswerOf } from '../../data/contracts.ts'
import { useData, useRefresh } from '../../data/queries.ts'
import { newRepeatKey } from '../../data/forms/repeat-keys.ts'
import { couponUploadText } from '../../texts/coupons.ts'

const URL = '/v1/coupon-list/:coupon_list_id/coupons'
const BAD_LINES_SHOWN = 10

type Sending = { readonly name: string; readonly part: number; readonly cancel: () => void }
type Outcome =
  | { readonly kind: 'added'; readonly answer: AnswerOf<'POST', typeof URL> }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'failed'; readonly error: Error }

export function UploadForm({ listId }: { readonly listId: string }) {
  const { client } = useData()
  const refresh = useRefresh()
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [file, setFile] = useState<File | undefined>(undefined)
  const [sending, setSending] = useState<Sending | undefined>(undefined)
  const [outcome, setOutcome] = useState<Outcome | undefined>(undefined)
  useLeaveQuestion(sending !== undefined)
  const send = async (chosen: File) => {
    const abort = new AbortController()
    const show = (part: number) => setSending({ name: chosen.name, part, cancel: () => abort.abort() })
    show(0)
    setOutcome(undefined)
    try {
      const own = { path: { coupon_list_id: listId }, file: chosen, type: 'text/csv', idempotencyKey: newRepeatKey() }
      const answer = await client.upload(URL, { ...own, onProgress: show, signal: abort.signal })
      setOutcome({ kind: 'added', answer })
      setFile(undefined)
      if (input.current) input.current.value = ''
      await refresh('coupon list', listId)
    } catch (error) {
      setOutcome(abort.signal.aborted ? { kind: 'cancelled' } : { kind: 'failed', error: error as Error })
    } finally {
      setSending(undefined)
    }
  }
  return (
    <div class="stack">
      <div class="field">
        <label htmlFor={id}>{couponUploadText.file}</label>
        <input
          id={id}
          ref={input}
          class="input"
          type="file"
          accept=".csv,.txt,text/csv,text/plain"
          disabled={sending !== undefined}
          onChange={({ currentTarget }) => setFile(currentTarget.files?.[0])}
        />
      </div>
      {sending ? (
        <Progress sending={sending} />
      ) : (
        <div class="row">
          <Button kind="main" icon="upload" isDisabled={!file} onClick={() => file && void send(file)}>
            {couponUploadText.upload}
          </Button>
        </div>
      )}
      {outcome && <Result outcome={outcome} />}
    </div>
  )
}

/** Leaving the page would break the upload off. */
function useLeaveQuestion(isWanted: boolean): void {
  useEffect(() => {
    if (!isWanted) return
    const onUnload = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', onUnload)
    return () => removeEventListener('beforeunload', onUnload)
  }, [isWanted])
}

function Progress({ sending: { name, part, cancel } }: { readonly sending: Sending }) {
  const id = useId()
  const isSent = part >= 1
  return (
    <div class="stack" role="status">
      <label htmlFor={id}>{isSent ? couponUploadText.checking(name) : couponUploadText.sending(name)}</label>
      <progress id={id} class="progress" value={isSent ? undefined : part} />
      <div class="row">
        <Button icon="x" onClick={cancel}>
          {couponUploadText.cancel}
        </Button>
      </div>
    </div>
  )
}

function Result({ outcome }: { readonly outcome: Outcome }) {
  if (outcome.kind === 'cancelled') return <Notice>{couponUploadText.cancelled}</Notice>
  if (outcome.kind === 'failed') {
    const { error } = outcome
    const faults = error instanceof ApiError ? error.details.filter(({ field }) => field.startsWith('line ')) : []
    return faults.length === 0 ? <Failure error={error} /> : <BadLines message={error.message} faults={faults} />
  }
  const { added, duplicates, header, similar } = outcome.answer
  return (
    <Notice kind="good">
      <p role="status">{couponUploadText.added(added)}</p>
      {duplicates > 0 && <p>{couponUploadText.duplicates(duplicates)}</p>}
      {header !== null && <p>{couponUploadText.header(header)}</p>}
      {similar.count > 0 && (
        <p>
          {couponUploadText.similar(similar.count)} <code>{similar.pairs[0]?.join(', ')}</code>
        </p>
      )}
    </Notice>
  )
}

function BadLines({ message, faults }: { readonly message: string; readonly faults: readonly Fault[] }) {
  const further = faults.length - BAD_LINES_SHOWN
  return (
    <Notice kind="bad" isAlert>
      <p>{message}</p>
      <FaultTable faults={faults.slice(0, BAD_LINES_SHOWN)} />
      {further > 0 && (
        <details>
          <summary>{couponUploadText.further(further)}</summary>
          <FaultTable faults={faults.slice(BAD_LINES_SHOWN)} />
        </details>
      )}
    </Notice>
  )
}

function FaultTable({ faults }: { readonly faults: readonly Fault[] }) {
  return (
    <Table
      caption={couponUploadText.badLines}
      hasCards={false}
      rows={faults}
      keyOf={({ field }) => field}
      columns={[
        { title: couponUploadText.line, cell: ({ field }) => field.replace('line ', ''), isTight: true },
        { title: couponUploadText.problem, cell: ({ problem }) => problem },
      ]}
    />
  )
}
