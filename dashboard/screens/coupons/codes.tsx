// The codes of a coupon list, and who has them.
import { Badge } from '../../components/content/badge.tsx'
import { Card } from '../../components/content/card.tsx'
import { Empty } from '../../components/content/empty.tsx'
import { nothingMatches } from '../../components/content/nothing-matches.tsx'
import { Pager } from '../../components/content/pager.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { Time } from '../../components/content/time.tsx'
import { SearchField } from '../../components/controls/search-field.tsx'
import { useAddress } from '../../data/address.ts'
import type { AnswerOf, AskedOf } from '../../data/contracts.ts'
import { useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { couponCodesText } from '../../texts/coupons.ts'

const URL = '/v1/coupon-list/:coupon_list_id/coupons'
const PER_PAGE = 25
const FILTERS = ['code', 'customer', 'after'] as const

type Coupon = AnswerOf<'GET', typeof URL>['data'][number]

export function Codes({ listId }: { readonly listId: string }) {
  const address = useAddress()
  const [search, customer_id, after] = FILTERS.map((name) => address.get(name))
  const query = { search, customer_id, after, limit: PER_PAGE } as NonNullable<AskedOf<'GET', typeof URL>['query']>
  const codes = useQuery({
    key: ['coupon list', listId, 'codes', query],
    ask: (client, signal) => client.get(URL, { path: { coupon_list_id: listId }, query, signal }),
    topics: ['audit', 'messages'],
  })
  const none = (
    <Empty icon="ticket" title={couponCodesText.none}>
      {couponCodesText.noneLead}
    </Empty>
  )
  return (
    <Card title={couponCodesText.title} lead={couponCodesText.lead} isFlush>
      <div class="card-filters filters">
        <SearchField label={couponCodesText.search} name="code" cursor="after" />
        <SearchField label={couponCodesText.customer} name="customer" cursor="after" />
      </div>
      <Shown of={codes} empty={nothingMatches(address, FILTERS) ?? none}>
        {({ data, next_after: next }) => (
          <>
            <CodeTable codes={data} />
            <Pager next={next} name="after">
              {couponCodesText.counted(data.length)}
            </Pager>
          </>
        )}
      </Shown>
    </Card>
  )
}

const KINDS = { available: 'plain', held: 'warn', issued: 'accent' } as const

function CodeTable({ codes }: { readonly codes: readonly Coupon[] }) {
  return <Table caption={couponCodesText.title} rows={codes} keyOf={({ code }) => code} columns={columnsOfCodes()} />
}

function columnsOfCodes(): Column<Coupon>[] {
  return [
    { title: couponCodesText.code, cell: ({ code }) => <code>{code}</code> },
    {
      title: couponCodesText.state,
      cell: ({ state }) => <Badge kind={KINDS[state]}>{couponCodesText.states[state]}</Badge>,
      isTight: true,
    },
    { title: couponCodesText.holder, cell: ({ holder }) => holder && <Holder holder={holder} /> },
    {
      title: couponCodesText.campaign,
      cell: ({ holder }) => holder?.campaign_id && <CampaignLink campaign={holder.campaign_id} />,
    },
    {
      title: couponCodesText.since,
      cell: ({ holder }) => holder && <Time at={holder.at} />,
      isTight: true,
    },
    { title: couponCodesText.added, cell: ({ added_at: at }) => at !== null && <Time at={at} />, isTight: true },
  ]
}

function Holder({ holder }: { readonly holder: NonNullable<Coupon['holder']> }) {
  const { page, may } = useWorkspace()
  const { customer_id: customer } = holder
  if (customer === null) return <span class="quiet-text">{couponCodesText.erased}</span>
  return may('users.read') ? <a href={page('users', customer)}>{customer}</a> : <>{customer}</>
}

function CampaignLink({ campaign }: { readonly campaign: string }) {
  const { page } = useWorkspace()
  return <a href={page('campaigns', campaign)}>{couponCodesText.report}</a>
}
