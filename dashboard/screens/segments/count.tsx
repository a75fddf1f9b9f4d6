// How many people a condition holds for now, of whom campaigns reach fewer, and some of them.
import { listLeaves, type SegmentCondition } from '../../../src/core/segments/condition.ts'
import { conditionFaults } from '../../../src/core/segments/condition-faults.ts'
import { Failure } from '../../components/content/shown.tsx'
import { ApiError } from '../../data/api-error.ts'
import { useQuery } from '../../data/queries.ts'
import { useRested } from '../../data/rested.ts'
import { useWorkspace } from '../../data/session.ts'
import { formatCount } from '../../texts/format.ts'
import { shownText } from '../../texts/shown.ts'
import { countText } from '../../texts/segments.ts'

/** Of a sample, how many are shown. */
const SAMPLE_SHOWN = 8

interface PeopleCountProps {
  /** Undefined: there is nothing to count yet. */
  readonly where: SegmentCondition | undefined
  /** In place of the count while there is nothing to count. */
  readonly waiting?: string
}

/** Follows what is typed, a moment later. */
export function PeopleCount({ where, waiting = countText.waitsForConditions }: PeopleCountProps) {
  const { may, page, zone } = useWorkspace()
  const rested = useRested(where)
  const isComplete = where !== undefined && isCountable(where, zone)
  const count = useQuery({
    key: ['count', rested],
    isWanted: rested !== undefined && isCountable(rested, zone),
    ask: (client, signal) =>
      client.post('/core-services/v1/segments/count', { body: { where: { ...rested } }, signal }),
  })
  if (where === undefined) return <p class="note">{waiting}</p>
  if (!isComplete) return <p class="note">{countText.incomplete}</p>
  if (count.state === 'loading') return <CountLines people="–" isOld />
  if (count.state === 'failed') {
    const isIncomplete = count.error instanceof ApiError && count.error.code === 'invalid_request'
    return isIncomplete ? (
      <p class="note">{countText.incomplete}</p>
    ) : (
      <Failure error={count.error} again={count.again} />
    )
  }
  const { users, with_address: withAddress, sendable, sample } = count.answer
  return (
    <>
      <CountLines
        people={formatCount(users)}
        withAddress={formatCount(withAddress)}
        sendable={formatCount(sendable)}
        isOld={count.isPrevious}
      />
      {sample.length > 0 && (
        <div class="stack">
          <h3>{countText.sample}</h3>
          <ul class="sample">
            {sample.slice(0, SAMPLE_SHOWN).map((id) => (
              <li key={id}>{may('users.read') ? <a href={page('users', id)}>{id}</a> : id}</li>
            ))}
          </ul>
        </div>
      )}
    </>
  )
}

/** What is only half typed is not counted. The rules are those of the server; which categories there are, only the server knows. */
function isCountable(where: SegmentCondition, timezone: string): boolean {
  const categories = listLeaves(where, '').flatMap(({ leaf }) => {
    return 'preference' in leaf && 'category' in leaf.preference ? [leaf.preference.category] : []
  })
  const settings = { timezone, categories: categories.filter((name) => name !== ''), emailProtection: 'none' } as const
  return conditionFaults(where, 'where', settings).length === 0
}

interface CountLinesProps {
  readonly people: string
  readonly withAddress?: string
  readonly sendable?: string
  readonly isOld: boolean
}

function CountLines({ people, withAddress = '–', sendable = '–', isOld }: CountLinesProps) {
  return (
    <div class={isOld ? 'people-count previous' : 'people-count'} role="status" aria-busy={isOld}>
      <p>
        <span class="tile-value">{people}</span> {countText.people}
      </p>
      <p>
        <strong class="number">{withAddress}</strong> {countText.withAddress}
      </p>
      <p>
        <strong class="number">{sendable}</strong> {countText.sendable}
      </p>
      {isOld && <span class="visually-hidden">{shownText.loading}</span>}
    </div>
  )
}
