// The segments of the workspace, newest first: each with its condition as a sentence, and how many people it holds for.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { SegmentCondition } from '../../../src/core/segments/condition.ts'
import { Card } from '../../components/content/card.tsx'
import { Empty } from '../../components/content/empty.tsx'
import { Pager } from '../../components/content/pager.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { Time } from '../../components/content/time.tsx'
import { LinkButton } from '../../components/controls/button.tsx'
import { SearchField } from '../../components/controls/search-field.tsx'
import { Page } from '../../components/frame/page.tsx'
import { useAddress } from '../../data/address.ts'
import type { AnswerOf } from '../../data/contracts.ts'
import { getExactly } from '../../data/exact.ts'
import { useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { formatCount } from '../../texts/format.ts'
import { segmentsText } from '../../texts/segments.ts'
import { useNames } from './conditions/condition-choices.ts'
import { sentenceOf, type Names } from './conditions/sentence.ts'

type Listed = AnswerOf<'GET', '/core-services/v1/segments'>['data'][number]

const PER_PAGE = 25

export default function Segments() {
  const { may, page } = useWorkspace()
  const address = useAddress()
  const [search, before] = [address.get('search'), address.get('before')]
  const segments = useQuery({
    key: ['segments', search, before],
    ask: (client, signal) => {
      const query = {
        limit: PER_PAGE,
        ...(search !== undefined && { search }),
        ...(before !== undefined && { before }),
      }
      return getExactly(client, '/core-services/v1/segments', { query, signal })
    },
    topics: ['audit'],
  })
  const create = may('segments.write') && (
    <LinkButton kind="main" icon="plus" href={page('segments', 'new')}>
      {segmentsText.create}
    </LinkButton>
  )
  const empty =
    search === undefined ? (
      <Empty icon="users-round" title={segmentsText.empty} action={create}>
        {segmentsText.emptyLead}
      </Empty>
    ) : (
      <Empty
        icon="users-round"
        title={segmentsText.noMatch}
        action={<LinkButton href={address.with({ search: undefined })}>{segmentsText.noMatchAction}</LinkButton>}
      />
    )
  return (
    <Page title={segmentsText.title} lead={segmentsText.lead} actions={create}>
      <div class="filters">
        <SearchField label={segmentsText.search} />
      </div>
      <Card isFlush>
        <Shown of={segments} empty={empty}>
          {({ data, next_before: next }) => (
            <>
              <SegmentTable segments={data} />
              <Pager next={next}>{segmentsText.shown(data.length)}</Pager>
            </>
          )}
        </Shown>
      </Card>
    </Page>
  )
}

function SegmentTable({ segments }: { readonly segments: readonly Listed[] }) {
  const { page } = useWorkspace()
  const [counted, setCounted] = useState(0)
  const names = useNames(segments.map(({ where }) => where as unknown as SegmentCondition))
  const countOf = (segment: Listed) => {
    const index = segments.indexOf(segment)
    const onCounted = () => setCounted((before) => Math.max(before, index + 1))
    return <Counted segment={segment} isWanted={index <= counted} onCounted={onCounted} />
  }
  return (
    <Table
      caption={segmentsText.caption}
      columns={segmentColumns({ names, hrefOf: (id) => page('segments', id), countOf })}
      rows={segments}
      keyOf={({ segment_id }) => segment_id}
    />
  )
}

interface CountedProps {
  readonly segment: Listed
  readonly isWanted: boolean
  readonly onCounted: () => void
}

/** With a million users it takes the server seconds, so one is counted after the other. */
function Counted({ segment: { segment_id, updated_at }, isWanted, onCounted }: CountedProps) {
  const count = useQuery({
    key: ['count', segment_id, updated_at],
    isWanted,
    ask: (client, signal) => client.post('/core-services/v1/segments/count', { body: { segment_id }, signal }),
    isEmpty: () => false,
  })
  const isOver = count.state !== 'loading'
  const told = useRef(onCounted)
  told.current = onCounted
  useEffect(() => {
    if (isOver) told.current()
  }, [isOver])
  if (count.state === 'failed') return <span class="quiet-text">{segmentsText.notCounted}</span>
  if (count.state === 'loading') return <span class="ghost-number" role="status" aria-label={segmentsText.counting} />
  return <>{formatCount(count.answer.users)}</>
}

interface SegmentColumns {
  readonly names: Names
  readonly hrefOf: (id: string) => string
  readonly countOf: (segment: Listed) => ComponentChildren
}

function segmentColumns({ names, hrefOf, countOf }: SegmentColumns): readonly Column<Listed>[] {
  return [
    {
      title: segmentsText.column.segment,
      cell: ({ segment_id, name, where }) => (
        <div class="named">
          <a href={hrefOf(segment_id)}>{name}</a>
          <span class="note sentence">{sentenceOf(where as unknown as SegmentCondition, names)}</span>
        </div>
      ),
    },
    {
      title: segmentsText.column.people,
      cell: countOf,
      isNumber: true,
      isTight: true,
    },
    { title: segmentsText.column.by, cell: ({ created_by: by }) => by, isTight: true },
    { title: segmentsText.column.made, cell: ({ created_at: at }) => <Time at={at} />, isTight: true },
  ]
}
