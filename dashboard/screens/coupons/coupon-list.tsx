// One coupon list: what is left, how templates use it, its uploads and codes.
import { useState } from 'preact/hooks'
import { Card } from '../../components/content/card.tsx'
import { CodeBlock } from '../../components/content/copy.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Time } from '../../components/content/time.tsx'
import { toast } from '../../components/content/toasts.tsx'
import { Button } from '../../components/controls/button.tsx'
import { ConfirmDialog, Dialog } from '../../components/controls/dialog.tsx'
import { EditForm } from '../../components/controls/edit-form.tsx'
import { TextField } from '../../components/controls/field.tsx'
import { Form } from '../../components/controls/form.tsx'
import { Menu } from '../../components/controls/menu.tsx'
import { Page } from '../../components/frame/page.tsx'
import { useEdit } from '../../data/forms/edits.ts'
import { useData, useQuery, useRefresh } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { couponFormText, couponListText, couponsText } from '../../texts/coupons.ts'
import { formText } from '../../texts/form.ts'
import { formatCount, formatDay } from '../../texts/format.ts'
import { Codes } from './codes.tsx'
import { couponAlerts, CouponStatus, type ListedCoupons } from './coupon-status.tsx'
import { LIST_LABELS, listEditKey, ListFields, toListBody, toListValues } from './list-form.tsx'
import { Uploads } from './uploads.tsx'

export default function CouponListPage({ coupon_list_id: id }: { readonly coupon_list_id: string }) {
  const { page } = useWorkspace()
  const list = useQuery({
    key: ['coupon list', id],
    ask: (client, signal) => client.get('/v1/coupon-list/:coupon_list_id', { path: { coupon_list_id: id }, signal }),
    topics: ['audit', 'messages'],
  })
  const parent = { href: page('coupons'), title: couponListText.parent }
  if (list.state !== 'filled') {
    return (
      <Page title={couponListText.parent} parent={parent}>
        <Shown of={list}>{() => null}</Shown>
      </Page>
    )
  }
  return <Found list={list.answer} parent={parent} />
}

interface FoundProps {
  readonly list: ListedCoupons
  readonly parent: { readonly href: string; readonly title: string }
}

function Found({ list, parent }: FoundProps) {
  const { may } = useWorkspace()
  return (
    <Page title={list.name} beside={<CouponStatus list={list} />} parent={parent} actions={<Actions list={list} />}>
      <Numbers list={list} />
      <div class="columns">
        <Facts list={list} />
        <Card title={couponListText.snippet} lead={couponListText.snippetLead}>
          <CodeBlock text={list.personalization_snippet} what={couponListText.snippet} />
        </Card>
      </div>
      <Uploads list={list} />
      {may('coupons.codes') && <Codes listId={list._id} />}
    </Page>
  )
}

type Opened = 'edit' | 'activate' | 'archive'

function Actions({ list }: { readonly list: ListedCoupons }) {
  const { may } = useWorkspace()
  const [opened, setOpened] = useState<Opened | undefined>(undefined)
  if (!may('coupons.write')) return null
  const close = () => setOpened(undefined)
  const open = (what: Opened) => () => setOpened(what)
  const isActive = list.status === 'ACTIVE'
  const items = [
    ...(isActive ? [] : [{ label: couponFormText.edit, onClick: open('edit') }]),
    ...(list.status === 'ARCHIVED'
      ? []
      : [{ label: couponFormText.archive, isDangerous: true, onClick: open('archive') }]),
  ]
  return (
    <>
      {isActive ? (
        <Button icon="pencil" onClick={open('edit')}>
          {couponFormText.edit}
        </Button>
      ) : (
        <Button kind="main" onClick={open('activate')}>
          {couponFormText.activate}
        </Button>
      )}
      <Menu label={couponListText.more} items={items} />
      {opened === 'edit' && <EditList list={list} onClose={close} />}
      {opened === 'activate' && <Activate list={list} onClose={close} />}
      {opened === 'archive' && <Archive list={list} onClose={close} />}
    </>
  )
}

function Numbers({ list }: { readonly list: ListedCoupons }) {
  const tiles = [
    [couponListText.available, list.available_coupons, couponListText.availableNote],
    [couponListText.held, list.held_coupons, couponListText.heldNote],
    [couponListText.issued, list.issued_coupons, couponListText.issuedNote],
    [couponListText.total, list.total_coupons, couponListText.totalNote],
  ] as const
  return (
    <div class="tiles">
      {tiles.map(([name, count, note]) => (
        <div class="tile" key={name}>
          <span class="tile-name">{name}</span>
          <span class="tile-value">{formatCount(count)}</span>
          <span class="note">{note}</span>
        </div>
      ))}
    </div>
  )
}

function Facts({ list }: { readonly list: ListedCoupons }) {
  const alerts = couponAlerts(list)
  return (
    <Card title={couponListText.facts}>
      <dl class="facts">
        <dt>{couponListText.label}</dt>
        <dd>
          <code>{list.label}</code>
        </dd>
        <dt>{couponsText.expires}</dt>
        <dd>{formatDay(list.expires_at)}</dd>
        <dt>{couponsText.alerts}</dt>
        <dd>{alerts.length === 0 ? couponsText.noAlerts : alerts.join(', ')}</dd>
        <dt>{couponListText.subscribers}</dt>
        <dd>{list.email_alert_subscribers.join(', ') || couponListText.nobody}</dd>
        <dt>{couponListText.created}</dt>
        <dd>
          <Time at={list.created_at} /> {couponListText.by} {list.created_by}
        </dd>
        <dt>{couponListText.changed}</dt>
        <dd>
          <Time at={list.updated_at} />
        </dd>
      </dl>
    </Card>
  )
}

interface ListDialogProps {
  readonly list: ListedCoupons
  readonly onClose: () => void
}

function useListRefresh(id: string): () => Promise<unknown> {
  const refresh = useRefresh()
  return () => Promise.all([refresh('coupon list', id), refresh('coupon lists')])
}

function EditList({ list, onClose }: ListDialogProps) {
  const { client } = useData()
  const refresh = useListRefresh(list._id)
  const edit = useEdit(listEditKey(list._id), toListValues(list), list.updated_at)
  const save = () =>
    client.patch('/v1/coupon-list/:coupon_list_id', {
      path: { coupon_list_id: list._id },
      body: { ...toListBody(edit.changes), if_updated_at: String(edit.seen) },
    })
  return (
    <Dialog title={couponFormText.edit} onClose={onClose}>
      <EditForm
        edit={edit}
        labels={LIST_LABELS}
        save={save}
        refresh={refresh}
        submit={couponFormText.save}
        done={couponFormText.saved}
        onSaved={onClose}
      >
        <TextField
          name="name"
          label={couponFormText.name}
          value={edit.values.name}
          onInput={(name) => edit.change({ name })}
        />
        <ListFields values={edit.values} change={edit.change} hasDate={list.status !== 'ARCHIVED'} />
      </EditForm>
    </Dialog>
  )
}

function Activate({ list, onClose }: ListDialogProps) {
  const { client } = useData()
  const { zone } = useWorkspace()
  const refresh = useListRefresh(list._id)
  const [day, setDay] = useState('')
  const send = async () => {
    const path = { coupon_list_id: list._id }
    await client.put('/v1/coupon-list/:coupon_list_id/activate', { path, body: { expires_at: day } })
    await refresh()
    toast(couponFormText.activated)
    onClose()
  }
  return (
    <Dialog title={couponFormText.activate} onClose={onClose}>
      <Form
        isDialog
        send={send}
        submit={couponFormText.activate}
        others={<Button onClick={onClose}>{formText.cancel}</Button>}
      >
        <p>{couponFormText.activateLead}</p>
        <TextField
          name="expires_at"
          type="date"
          label={couponFormText.expires}
          hint={couponFormText.expiresHint(zone)}
          value={day}
          onInput={setDay}
          takesFocus
        />
      </Form>
    </Dialog>
  )
}

function Archive({ list, onClose }: ListDialogProps) {
  const { client } = useData()
  const refresh = useListRefresh(list._id)
  const act = async () => {
    await client.put('/v1/coupon-list/:coupon_list_id/archive', { path: { coupon_list_id: list._id } })
    await refresh()
    toast(couponFormText.archived)
  }
  return (
    <ConfirmDialog title={couponFormText.archive} isDangerous act={act} onClose={onClose}>
      <p>{couponFormText.archiveLead}</p>
    </ConfirmDialog>
  )
}
