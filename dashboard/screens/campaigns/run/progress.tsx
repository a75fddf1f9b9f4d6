// The audience by state, how fast it goes, and why it waits.
import type { ComponentChildren } from 'preact'
import { MESSAGE_STATES, type MessageState } from '../../../../src/core/delivery/message-state.ts'
import { Card } from '../../../components/content/card.tsx'
import { Notice } from '../../../components/content/notice.tsx'
import { Table, type Column } from '../../../components/content/table.tsx'
import { Ago, Time } from '../../../components/content/time.tsx'
import { useAddress } from '../../../data/address.ts'
import type { AnswerOf } from '../../../data/contracts.ts'
import { useWorkspace } from '../../../data/session.ts'
import { campaignRunText } from '../../../texts/campaigns/run.ts'
import { formatCount, formatCounted, formatDecimal, formatShare } from '../../../texts/format.ts'
import { countMessages, countIn } from './message-counts.ts'

export type ShownRunBody = AnswerOf<'GET', '/core-services/v1/campaigns/:campaign_id/runs'>['data'][number]

/** In the order in which people read them. */
const ORDER = ['sent', 'sending', 'queued', 'deferred', 'in_doubt', 'failed', 'removed', 'control'] as const
/** Shown even if nobody is in them. */
const ALWAYS: readonly MessageState[] = ['sent', 'queued', 'failed', 'removed']
const NEEDS_SOMEBODY: readonly MessageState[] = ['in_doubt', 'failed', 'deferred']

export function RunStates({ run }: { readonly run: ShownRunBody }) {
  const { waiting, paused } = run
  return (
    <>
      {paused && <Halt title={campaignRunText.paused} halt={paused} />}
      {waiting && !paused && <Halt title={campaignRunText.waiting} halt={waiting} />}
      <div class="tiles">
        <Tiles run={run} />
      </div>
      <Card title={campaignRunText.progress} lead={<Done run={run} />} isFlush>
        <States run={run} />
      </Card>
    </>
  )
}

interface HaltProps {
  readonly title: string
  readonly halt: { readonly since: string; readonly reason: string; readonly reply?: string }
}

function Halt({ title, halt: { since, reason, reply } }: HaltProps) {
  return (
    <Notice kind="warn">
      <p>
        <strong>
          {title} {campaignRunText.since} <Time at={since} />.
        </strong>{' '}
        {reason}
      </p>
      {reply !== undefined && (
        <p>
          {campaignRunText.reply}: <code>{reply}</code>
        </p>
      )}
    </Notice>
  )
}

function Tiles({ run }: { readonly run: ShownRunBody }) {
  const { audience, states, rate, eta, started_at: startedAt, finished_at: finishedAt, state } = run
  const isSending = state === 'running'
  const { open } = countMessages(states)
  return (
    <>
      <Tile name={campaignRunText.audience}>{formatCount(audience)}</Tile>
      <Tile name={campaignRunText.states.sent[0]}>{formatCount(states['sent'] ?? 0)}</Tile>
      {isSending && (
        <Tile name={campaignRunText.rate} note={campaignRunText.rateHint}>
          {campaignRunText.rateValue(formatDecimal(rate))}
        </Tile>
      )}
      {isSending && open > 0 && <Tile name={campaignRunText.eta}>{eta === null ? '–' : <Ago at={eta} />}</Tile>}
      <Tile name={campaignRunText.startedAt}>
        <Ago at={startedAt} />
      </Tile>
      {finishedAt !== null && (
        <Tile name={campaignRunText.finishedAt}>
          <Ago at={finishedAt} />
        </Tile>
      )}
    </>
  )
}

interface TileProps {
  readonly name: string
  readonly note?: string
  readonly children: ComponentChildren
}

function Tile({ name, note, children }: TileProps) {
  return (
    <div class="tile">
      <span class="tile-name">{name}</span>
      <span class="tile-value small">{children}</span>
      {note !== undefined && <span class="note">{note}</span>}
    </div>
  )
}

function Done({ run: { states, without_address: withoutAddress } }: { readonly run: ShownRunBody }) {
  const { done, all } = countMessages(states)
  return (
    <>
      {campaignRunText.done(all === 0 ? formatShare(1) : formatShare(done / all))}.
      {withoutAddress > 0 && ` ${campaignRunText.withoutAddress(formatCounted(withoutAddress, 'person', 'people'))}`}
    </>
  )
}

function States({ run: { states, audience } }: { readonly run: ShownRunBody }) {
  const address = useAddress()
  const { may } = useWorkspace()
  const hrefOf = may('messages.read')
    ? (state: MessageState) => `${address.with({ state, reason: undefined, before: undefined })}#messages`
    : undefined
  return (
    <Table
      caption={campaignRunText.statesCaption}
      columns={stateColumns({ states, audience, hrefOf })}
      rows={ORDER.filter((state) => ALWAYS.includes(state) || (states[state] ?? 0) > 0)}
      keyOf={(state) => state}
      hasCards={false}
      foot={
        <tr>
          <th scope="row">{campaignRunText.total}</th>
          <td class="right">{formatCount(countIn(states, MESSAGE_STATES))}</td>
        </tr>
      }
    />
  )
}

interface StateColumns extends Pick<ShownRunBody, 'states' | 'audience'> {
  /** Where the messages in a state are; absent for who may not see them. */
  readonly hrefOf: ((state: MessageState) => string) | undefined
}

function stateColumns({ states, audience, hrefOf }: StateColumns): readonly Column<MessageState>[] {
  return [
    {
      title: campaignRunText.stateTitle,
      cell: (state) => {
        const [title, hint] = campaignRunText.states[state]
        return (
          <span class="named">
            {hrefOf ? <a href={hrefOf(state)}>{title}</a> : title}
            <span class="note sentence">{hint}</span>
          </span>
        )
      },
    },
    {
      title: campaignRunText.people,
      isNumber: true,
      isTight: true,
      cell: (state) => formatCount(states[state] ?? 0),
    },
    {
      title: campaignRunText.part,
      cell: (state) => (
        <span class={NEEDS_SOMEBODY.includes(state) ? 'bar warn' : 'bar'} aria-hidden="true">
          <span style={{ width: `${audience === 0 ? 0 : (100 * (states[state] ?? 0)) / audience}%` }} />
        </span>
      ),
    },
  ]
}
