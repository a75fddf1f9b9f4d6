// Failure reasons: why people of the audience were not sent a message, and who they are, if Tidings sends the campaign.
import { FAILURE_REASONS, REMOVAL_REASONS } from '../../../../src/core/delivery/message-state.ts'
import { Empty } from '../../../components/content/empty.tsx'
import { Shown } from '../../../components/content/shown.tsx'
import { Table, type Column } from '../../../components/content/table.tsx'
import { Time } from '../../../components/content/time.tsx'
import { LinkButton } from '../../../components/controls/button.tsx'
import { Dialog } from '../../../components/controls/dialog.tsx'
import { useAddress } from '../../../data/address.ts'
import type { AnswerOf } from '../../../data/contracts.ts'
import { useQuery } from '../../../data/queries.ts'
import { useWorkspace } from '../../../data/session.ts'
import { reasonHint, reasonTitle, reportText } from '../../../texts/campaigns/report.ts'
import { formatCount } from '../../../texts/format.ts'
import { useReport } from './report-context.ts'
import { Counted, Section } from './section.tsx'

type Message = AnswerOf<'GET', '/core-services/v1/campaigns/:campaign_id/messages'>['data'][number]
/** Those of messages that Tidings sends. */
type KnownReason = (typeof REMOVAL_REASONS)[number] | (typeof FAILURE_REASONS)[number]

const KNOWN: readonly KnownReason[] = [...REMOVAL_REASONS, ...FAILURE_REASONS]
const PEOPLE_SHOWN = 20

export function Failures() {
  const { may } = useWorkspace()
  const address = useAddress()
  const { numbers, campaign } = useReport()
  const rows = Object.entries(numbers.failure_breakdown).toSorted(([, left], [, right]) => right - left)
  const hasPeople = may('messages.read') && campaign.state !== undefined
  const opened = KNOWN.find((reason) => reason === address.get('people'))
  const csv = () => ({ head: [reportText.reason, reportText.units], rows })
  if (rows.length === 0) {
    return (
      <Section title={reportText.failures}>
        <Empty icon="circle-check" title={reportText.noFailures} />
      </Section>
    )
  }
  return (
    <Section title={reportText.failures} lead={reportText.failuresLead} csv={csv}>
      <Table caption={reportText.failures} columns={columnsOf(hasPeople)} rows={rows} keyOf={([reason]) => reason} />
      {hasPeople && opened && <People reason={opened} onClose={() => address.set({ people: undefined })} />}
    </Section>
  )
}

type Failure = readonly [reason: string, units: number]

function columnsOf(hasPeople: boolean): Column<Failure>[] {
  return [
    {
      title: reportText.reason,
      cell: ([reason]) => (
        <>
          {reasonTitle(reason)} <span class="under note">{reasonHint(reason)}</span>
        </>
      ),
    },
    {
      title: reportText.units,
      isNumber: true,
      isTight: true,
      explained: (
        <Counted what={reportText.units} by="audience">
          {reportText.explain.units}
        </Counted>
      ),
      cell: ([, units]) => formatCount(units),
    },
    ...(hasPeople ? [{ title: '', isTight: true, cell: ([reason]: Failure) => <PeopleLink of={reason} /> }] : []),
  ]
}

function PeopleLink({ of: reason }: { readonly of: string }) {
  const address = useAddress()
  if (!KNOWN.some((known) => known === reason)) return null
  return (
    <a href={address.with({ people: reason })} aria-label={reportText.people(reasonTitle(reason))}>
      {reportText.showPeople}
    </a>
  )
}

interface PeopleProps {
  readonly reason: KnownReason
  readonly onClose: () => void
}

function People({ reason, onClose }: PeopleProps) {
  const { page } = useWorkspace()
  const { campaign } = useReport()
  const { campaign_id } = campaign
  const messages = useQuery({
    key: ['people', campaign_id, reason],
    ask: (client, signal) =>
      client.get('/core-services/v1/campaigns/:campaign_id/messages', {
        path: { campaign_id },
        query: { reason, limit: PEOPLE_SHOWN },
        signal,
      }),
    topics: ['messages'],
  })
  return (
    <Dialog title={reportText.people(reasonTitle(reason))} isWide onClose={onClose}>
      <p class="quiet-text">
        {reasonHint(reason)} {reportText.peopleLead}
      </p>
      <Shown of={messages} empty={<p>{reportText.noPeople}</p>}>
        {({ data, next_before: next }) => (
          <div class="stack">
            <Table
              caption={reportText.people(reasonTitle(reason))}
              columns={peopleColumns(page)}
              rows={data}
              keyOf={({ message_id: id }) => id}
            />
            {next !== null && (
              <p>
                <LinkButton href={`${page('campaigns', campaign_id, 'run')}?reason=${reason}`}>
                  {reportText.allPeople}
                </LinkButton>
              </p>
            )}
          </div>
        )}
      </Shown>
    </Dialog>
  )
}

const peopleColumns = (page: (...parts: readonly string[]) => string): Column<Message>[] => [
  {
    title: reportText.person,
    cell: ({ customer_id: id }) => (id === null ? reportText.erased : <a href={page('users', id)}>{id}</a>),
  },
  { title: reportText.variation, cell: ({ variation, locale }) => [locale, variation].filter(Boolean).join(' · ') },
  {
    title: reportText.reply,
    cell: ({ attempts }) => {
      const last = attempts.at(-1)
      return last && <code>{[last.code, last.text].filter((part) => part !== null).join(' ')}</code>
    },
  },
  {
    title: reportText.when,
    isTight: true,
    cell: ({ attempts }) => {
      const last = attempts.at(-1)
      return last && <Time at={last.at} />
    },
  },
]
