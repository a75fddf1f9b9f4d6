// Shows a query: lines in the shape of what comes, the refusal, what stands in place of nothing, or the answer.
import type { ComponentChildren } from 'preact'
import { ApiError } from '../../data/api-error.ts'
import type { ShownQuery } from '../../data/queries.ts'
import { shownText } from '../../texts/shown.ts'
import { Button } from '../controls/button.tsx'
import { Notice } from './notice.tsx'

interface ShownProps<Answer> {
  readonly of: ShownQuery<Answer>
  /** In place of an empty answer. */
  readonly empty?: ComponentChildren
  /** How many grey lines stand for what comes. */
  readonly lines?: number
  readonly children: (answer: Answer) => ComponentChildren
}

export function Shown<Answer>({ of: query, empty, lines = 4, children }: ShownProps<Answer>) {
  switch (query.state) {
    case 'loading':
      return <Ghost lines={lines} />
    case 'failed':
      return <Failure error={query.error} again={query.again} />
    case 'empty':
    case 'filled': {
      const shown = query.state === 'empty' && empty !== undefined ? empty : children(query.answer)
      return (
        <div class={query.isPrevious ? 'previous' : 'current'} aria-busy={query.isPrevious}>
          {shown}
        </div>
      )
    }
  }
}

function Ghost({ lines }: { readonly lines: number }) {
  return (
    <div class="ghost" role="status" aria-label={shownText.loading}>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  )
}

export function Failure({ error, again }: { readonly error: Error; readonly again?: () => void }) {
  const requestId = error instanceof ApiError ? error.requestId : undefined
  return (
    <Notice kind="bad" isAlert>
      <p>{error.message}</p>
      {requestId !== undefined && <p class="note">{shownText.requestId(requestId)}</p>}
      {again && (
        <div class="row">
          <Button onClick={again} icon="rotate-cw">
            {shownText.again}
          </Button>
        </div>
      )}
    </Notice>
  )
}
