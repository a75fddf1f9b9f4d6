// Coupon lists: what is left of each, until when, and who is told when it runs short.
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { Badge } from '../../components/content/badge.tsx'
import { Card } from '../../components/content/card.tsx'
import { Empty } from '../../components/content/empty.tsx'
import { nothingMatches } from '../../components/content/nothing-matches.tsx'
import { Pager } from '../../components/content/pager.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { toast } from '../../components/content/toasts.tsx'
import { Button } from '../../components/controls/button.tsx'
import { Dialog } from '../../components/controls/dialog.tsx'
import { SelectField, TextField } from '../../components/controls/field.tsx'
import { Form } from '../../components/controls/form.tsx'
import { SearchField } from '../../components/controls/search-field.tsx'
import { Page } from '../../components/frame/page.tsx'
import { useAddress } from '../../data/address.ts'
import type { AskedOf } from '../../data/contracts.ts'
import { keepDraft, typedSince, useDraft } from '../../data/forms/drafts.ts'
import { useData, useQuery, useRefresh } from '../../data/queries.ts'
import { useRepeatKey } from '../../data/forms/repeat-keys.ts'
import { useSession, useWorkspace, type CurrentWorkspace } from '../../data/session.ts'
import { couponFormText, couponsText } from '../../texts/coupons.ts'
import { formText } from '../../texts/form.ts'
import { formatDay } from '../../texts/format.ts'
import { frameText } from '../../texts/frame.ts'
import { couponAlerts, CouponsLeft, CouponStatus, isShort, type ListedCoupons } from './coupon-status.tsx'
import { listEditKey, ListFields, toListBody, toListValues, type ListValues } from './list-form.tsx'

const FILTERS = ['search', 'status', 'before'] as const
type Query = NonNullable<AskedOf<'GET', '/v1/coupon-list'>['query']>

export default function CouponLists() {
  const { may } = useWorkspace()
  const address = useAddress()
  const [isCreating, setCreating] = useState(false)
  const [search, status, before] = FILTERS.map((name) => address.get(name))
  const query = { search, status, before, limit: 50 } as Query
  const lists = useQuery({
    key: ['coupon lists', query],
    ask: (client, signal) => client.get('/v1/coupon-list', { query, signal }),
    topics: ['audit'],
  })
  const create = may('coupons.write') && (
    <Button kind="main" icon="plus" onClick={() => setCreating(true)}>
      {couponsText.create}
    </Button>
  )
  const none = (
    <Empty icon="ticket" title={couponsText.none} action={create}>
      {couponsText.noneLead}
    </Empty>
  )
  return (
    <Page title={frameText.coupons} lead={couponsText.lead} actions={create}>
      <div class="filters">
        <SearchField label={couponsText.search} placeholder={couponsText.searchHint} />
        <SelectField
          name="status"
          label={couponsText.status}
          value={status ?? ''}
          options={[
            { value: '', label: couponsText.anyStatus },
            ...Object.entries(couponsText.statuses).map(([value, label]) => ({ value, label })),
          ]}
          onChange={(value) => address.set({ status: value, before: undefined })}
        />
      </div>
      <Card isFlush>
        <Shown of={lists} empty={nothingMatches(address, FILTERS) ?? none}>
          {({ data, next_before: next }) => (
            <>
              <Lists lists={data} />
              <Pager next={next}>{couponsText.counted(data.length)}</Pager>
            </>
          )}
        </Shown>
      </Card>
      {isCreating && <NewList onClose={() => setCreating(false)} />}
    </Page>
  )
}

function Lists({ lists }: { readonly lists: readonly ListedCoupons[] }) {
  const { page } = useWorkspace()
  return <Table caption={frameText.coupons} rows={lists} keyOf={({ _id: id }) => id} columns={columnsOfLists(page)} />
}

function columnsOfLists(page: CurrentWorkspace['page']): Column<ListedCoupons>[] {
  return [
    {
      title: couponsText.name,
      cell: ({ _id: id, name, label }) => (
        <>
          <a href={page('coupons', id)}>{name}</a>
          <code class="under">{label}</code>
        </>
      ),
    },
    { title: couponsText.status, cell: (list) => <CouponStatus list={list} />, isTight: true },
    { title: couponsText.available, cell: (list) => <CouponsLeft list={list} /> },
    { title: couponsText.expires, cell: (list) => formatDay(list.expires_at), isTight: true },
    { title: couponsText.alerts, cell: (list) => <Alerts list={list} /> },
  ]
}

function Alerts({ list }: { readonly list: ListedCoupons }) {
  const [first, ...others] = couponAlerts(list)
  return (
    <>
      {isShort(list) && (
        <Badge kind="warn" icon="triangle-alert">
          {couponsText.isShort}
        </Badge>
      )}
      <span class="note under">{first === undefined ? couponsText.noAlerts : [first, ...others].join(', ')}</span>
    </>
  )
}

const NEW_LIST: ListValues & { readonly label: string } = {
  name: '',
  label: '',
  expires_at: '',
  subscribers: '',
  success: false,
  failure: false,
  expiry: false,
  expiryDays: '7',
  shortage: false,
  shortageCount: '100',
}

function NewList({ onClose }: { readonly onClose: () => void }) {
  const { client } = useData()
  const refresh = useRefresh()
  const { person } = useSession()
  const { page } = useWorkspace()
  const { route } = useLocation()
  const { value, latest, change, forget } = useDraft('new coupon list', NEW_LIST)
  const keyOf = useRepeatKey()
  const set = (changes: Partial<typeof NEW_LIST>) => change({ ...value, ...changes })
  const send = async () => {
    const { name, label, expires_at } = value
    const body = { ...toListBody(value), name, label, expires_at, created_by: person.email }
    const made = await client.post('/v1/coupon-list', { body, idempotencyKey: keyOf(body) })
    await refresh('coupon lists')
    // The label of a list never changes.
    const { label: _label, ...typed } = typedSince(value, latest()) ?? {}
    const hasMore = Object.keys(typed).length > 0
    if (hasMore)
      keepDraft(page('coupons', made._id), listEditKey(made._id), { changes: typed, before: toListValues(made) })
    forget()
    toast(hasMore ? couponFormText.createdWithMore : couponFormText.created)
    route(page('coupons', made._id))
  }
  return (
    <Dialog title={couponsText.create} onClose={onClose}>
      <Form
        isDialog
        send={send}
        submit={couponsText.create}
        others={<Button onClick={onClose}>{formText.cancel}</Button>}
      >
        <TextField
          name="name"
          label={couponFormText.name}
          value={value.name}
          onInput={(name) => set({ name, ...(isSuggested(value) && { label: toLabel(name) }) })}
          takesFocus
        />
        <TextField
          name="label"
          label={couponFormText.label}
          hint={couponFormText.labelHint}
          isCode
          value={value.label}
          onInput={(label) => set({ label })}
        />
        <ListFields values={value} change={set} />
      </Form>
    </Dialog>
  )
}

/** Whether nobody has typed another label yet. */
function isSuggested({ name, label }: typeof NEW_LIST): boolean {
  return label === toLabel(name)
}

/** `Summer sale 2030` → `summer_sale_2030`. */
function toLabel(name: string): string {
  return name
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ')
    .trim()
    .replaceAll(' ', '_')
}
