// What goes on only when somebody does something. Each leads to the page that mends it, if the role includes that page.
import { Card } from '../../components/content/card.tsx'
import { Empty } from '../../components/content/empty.tsx'
import { Icon } from '../../components/content/icon.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Ago } from '../../components/content/time.tsx'
import type { AnswerOf } from '../../data/contracts.ts'
import { useQuery } from '../../data/queries.ts'
import { usePageIfAllowed } from '../../data/session.ts'
import { homeText } from '../../texts/home.ts'

type Item = AnswerOf<'GET', '/v1/workspaces/:Workspace_ID/attention'>['data'][number]
type Kind = Item['kind']
type Subject = Item['subjects'][number]

type PageIfAllowed = ReturnType<typeof usePageIfAllowed>

/** The page that mends a kind; `id`: of one of its subjects. */
const PAGES: { readonly [kind in Kind]: (page: PageIfAllowed, id: string) => string | undefined } = {
  campaigns_halted: (page, id) => page('campaigns', id, 'run') ?? page('campaigns', id),
  messages_in_doubt: (page, id) => page('campaigns', id, 'run') ?? page('campaigns', id),
  senders_waiting: (page, id) => page('settings', 'senders', id),
  parked_entries: (page) => page('events')?.concat('?tab=parked'),
  coupons_short: (page, id) => page('coupons', id),
  coupons_expiring: (page, id) => page('coupons', id),
  limits_nearly_used: (page) => page('settings', 'limits'),
}

export function Attention() {
  const attention = useQuery({
    key: ['attention'],
    ask: (client, signal) => client.get('/v1/workspaces/:Workspace_ID/attention', { signal }),
    topics: ['messages', 'parked', 'audit', 'events'],
  })
  const empty = (
    <Empty icon="circle-check" title={homeText.nothingNeeds}>
      {homeText.nothingNeedsLead}
    </Empty>
  )
  return (
    <Card title={homeText.attention} isFlush>
      <Shown of={attention} empty={empty}>
        {({ data }) => (
          <ul class="attention">
            {data.map((item) => (
              <AttentionItem key={item.kind} item={item} />
            ))}
          </ul>
        )}
      </Shown>
    </Card>
  )
}

function AttentionItem({ item: { kind, count, subjects } }: { readonly item: Item }) {
  const words = homeText.kinds[kind]
  const rest = kind === 'messages_in_doubt' ? 0 : Math.max(0, count - subjects.length)
  return (
    <li class="attention-item">
      <Icon name="triangle-alert" />
      <div class="stack tight">
        <h3>{subjects.length === 0 ? <To kind={kind}>{words.title(count)}</To> : words.title(count)}</h3>
        {words.lead && <p class="note">{words.lead}</p>}
        {subjects.length > 0 && (
          <ul class="attention-subjects">
            {subjects.map((subject) => (
              <li key={subject.id}>
                <To kind={kind} id={subject.id}>
                  {nameOf(kind, subject)}
                </To>
                <Detail kind={kind} subject={subject} />
              </li>
            ))}
            {rest > 0 && <li class="quiet-text">{homeText.more(rest)}</li>}
          </ul>
        )}
      </div>
    </li>
  )
}

function To({ kind, id = '', children }: { readonly kind: Kind; readonly id?: string; readonly children: string }) {
  const href = PAGES[kind](usePageIfAllowed(), id)
  return href === undefined ? <span>{children}</span> : <a href={href}>{children}</a>
}

function nameOf(kind: Kind, { id, name }: Subject): string {
  return kind === 'limits_nearly_used' ? homeText.limit(id) : name
}

function Detail({ kind, subject }: { readonly kind: Kind; readonly subject: Subject }) {
  const { since, reason } = subject
  return (
    <span class="quiet-text">
      {homeText.details[kind](subject)}
      {reason} {since !== undefined && <Ago at={since} />}
    </span>
  )
}
