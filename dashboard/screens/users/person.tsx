// One person: what is known, what they agreed to, the segments they are in, and what happened.
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { OptInStatus } from '../../../src/core/users/preference.ts'
import { Badge, type BadgeKind } from '../../components/content/badge.tsx'
import { Card } from '../../components/content/card.tsx'
import { Notice } from '../../components/content/notice.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Time } from '../../components/content/time.tsx'
import { toast } from '../../components/content/toasts.tsx'
import { Button } from '../../components/controls/button.tsx'
import { ConfirmDialog } from '../../components/controls/dialog.tsx'
import { Page } from '../../components/frame/page.tsx'
import { useAddress } from '../../data/address.ts'
import type { AnswerOf } from '../../data/contracts.ts'
import { getExactly, writeShort } from '../../data/exact.ts'
import { useData, useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { personText, usersText } from '../../texts/people/users.ts'
import { Timeline } from './timeline.tsx'

type User = AnswerOf<'GET', '/v1/customer/:Workspace_ID'>

/** `customer_id`, or `name` and `value` of an identifier for somebody without one. */
type PersonParams = Readonly<Record<string, string>>

export default function Person({ customer_id: customerId, name, value }: PersonParams) {
  const { page, may } = useWorkspace()
  const [isErasing, setErasing] = useState(false)
  const lookup =
    customerId === undefined
      ? { identifier_name: name ?? '', identifier_value: value ?? '' }
      : { customer_id: customerId }
  const user = useQuery({
    key: ['user', lookup],
    ask: (client, signal) => getExactly(client, '/v1/customer/:Workspace_ID', { query: lookup, signal }),
    topics: ['events'],
  })
  const found = user.state === 'filled' ? user.answer : undefined
  const id = found?.customer_id ?? undefined
  return (
    <Page
      title={id ?? customerId ?? value ?? ''}
      lead={found && <Since user={found} />}
      parent={{ href: page('users'), title: usersText.title }}
      actions={
        found &&
        may('users.write') && (
          <Button kind="danger" onClick={() => setErasing(true)}>
            {personText.erase}
          </Button>
        )
      }
    >
      <Shown of={user}>
        {(known) => (
          <div class="columns">
            <Attributes user={known} />
            <div class="person-facts">
              <Identities user={known} />
              {id !== undefined && <Consent customerId={id} />}
              {may('segments.read') && <Segments lookup={lookup} />}
            </div>
          </div>
        )}
      </Shown>
      {id !== undefined && <Timeline customerId={id} />}
      {isErasing && found && <Erase lookup={lookup} word={id ?? value ?? ''} onClose={() => setErasing(false)} />}
    </Page>
  )
}

function Since({ user: { created_at: createdAt, last_event_at: lastEventAt } }: { readonly user: User }) {
  return (
    <>
      {personText.since} <Time at={createdAt} />, {personText.lastEvent} <Time at={lastEventAt} />
    </>
  )
}

function Attributes({ user: { attributes } }: { readonly user: User }) {
  const entries = Object.entries(attributes)
  return (
    <Card title={personText.attributes}>
      {entries.length === 0 ? (
        <p class="quiet-text">{personText.noAttributes}</p>
      ) : (
        <dl class="facts">
          {entries.map(([name, value]) => (
            <Fact key={name} name={name}>
              {writeShort(value)}
            </Fact>
          ))}
        </dl>
      )}
    </Card>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: string }) {
  return (
    <>
      <dt class="breaking">{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

function Identities({ user: { customer_id: id, user_identifiers: identifiers } }: { readonly user: User }) {
  return (
    <Card title={personText.identities}>
      <dl class="facts">
        <Fact name={personText.customerId}>{id ?? usersText.noId}</Fact>
        {Object.entries(identifiers).map(([name, value]) => (
          <Fact key={name} name={name}>
            {value}
          </Fact>
        ))}
      </dl>
    </Card>
  )
}

const KIND_OF: { readonly [status in OptInStatus]: BadgeKind } = {
  OPTED_IN: 'good',
  DOUBLE_OPTED_IN: 'good',
  OPTED_OUT: 'bad',
  OPT_IN_PENDING: 'plain',
}

function Consent({ customerId }: { readonly customerId: string }) {
  const address = useAddress()
  const preferences = useQuery({
    key: ['preferences', customerId],
    ask: (client, signal) => {
      const query = { customer_id: customerId }
      return client.get('/v1.0/opt-in-management/user-preferences', { query, signal })
    },
    topics: ['events', 'messages'],
  })
  return (
    <Card
      title={personText.consent}
      actions={<a href={address.with({ show: 'consent', page: undefined })}>{personText.proofs}</a>}
    >
      <Shown of={preferences}>
        {({ data: [own] }) =>
          own && (
            <dl class="facts">
              <dt>{personText.status}</dt>
              <dd>
                <Badge kind={KIND_OF[own.opt_in_status]}>{personText.statuses[own.opt_in_status]}</Badge>
              </dd>
              {Object.entries(own.categories).map(([name, isOn]) => (
                <Fact key={name} name={name}>
                  {isOn ? personText.category.on : personText.category.off}
                </Fact>
              ))}
              {own.tracking !== undefined && (
                <Fact name={personText.tracking}>{own.tracking ? personText.trackingOn : personText.trackingOff}</Fact>
              )}
              <dt>{personText.changed}</dt>
              <dd>
                <Time at={own.updated_at} />
              </dd>
            </dl>
          )
        }
      </Shown>
    </Card>
  )
}

type Lookup = { readonly customer_id: string } | { readonly identifier_name: string; readonly identifier_value: string }

function Segments({ lookup }: { readonly lookup: Lookup }) {
  const { page } = useWorkspace()
  const segments = useQuery({
    key: ['segments of', lookup],
    ask: (client, signal) => client.get('/v1/customer/:Workspace_ID/segments', { query: lookup, signal }),
    topics: ['events', 'audit'],
    isEmpty: ({ data }) => !data.some((segment) => segment.in !== false),
  })
  return (
    <Card title={personText.segments}>
      <Shown of={segments} empty={<p class="quiet-text">{personText.noSegments}</p>}>
        {({ data }) => {
          const unknown = data.filter((segment) => segment.in === null).length
          return (
            <>
              <ul class="row">
                {data.flatMap((segment) =>
                  segment.in
                    ? [
                        <li key={segment.segment_id}>
                          <a href={page('segments', segment.segment_id)}>{segment.name}</a>
                        </li>,
                      ]
                    : [],
                )}
              </ul>
              {unknown > 0 && <p class="note">{personText.unknownSegments(unknown)}</p>}
            </>
          )
        }}
      </Shown>
    </Card>
  )
}

interface EraseProps {
  readonly lookup: Lookup
  readonly word: string
  readonly onClose: () => void
}

function Erase({ lookup, word, onClose }: EraseProps) {
  const { client, queries } = useData()
  const { route } = useLocation()
  const { page } = useWorkspace()
  const act = async () => {
    await client.delete('/v1/customer/:Workspace_ID', { query: lookup })
    // What is on the screen is about somebody who is no more, so it is not fetched again.
    await queries.invalidateQueries({ refetchType: 'none' })
    toast(personText.erased)
    route(page('users'))
  }
  return (
    <ConfirmDialog title={personText.erase} word={word} act={act} onClose={onClose}>
      <Notice kind="warn">{personText.eraseLead}</Notice>
    </ConfirmDialog>
  )
}
