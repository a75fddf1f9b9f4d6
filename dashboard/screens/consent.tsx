// Consent: the categories that people decide about, what their switches say in each language, and the proofs.
import { useState } from 'preact/hooks'
import { Card } from '../components/content/card.tsx'
import { Empty } from '../components/content/empty.tsx'
import { Pager } from '../components/content/pager.tsx'
import { Shown } from '../components/content/shown.tsx'
import { Table, type Column } from '../components/content/table.tsx'
import { toast } from '../components/content/toasts.tsx'
import { Button } from '../components/controls/button.tsx'
import { ConfirmDialog } from '../components/controls/dialog.tsx'
import { SaveButton } from '../components/controls/save-button.tsx'
import { Page } from '../components/frame/page.tsx'
import { useAddress } from '../data/address.ts'
import { useData, useQuery, useRefresh } from '../data/queries.ts'
import { useWorkspace } from '../data/session.ts'
import { consentText } from '../texts/people/consent.ts'
import { frameText } from '../texts/frame.ts'
import { CategoryDialog, type Category } from './consent/category-dialog.tsx'

type Opened = { readonly kind: 'add' } | { readonly kind: 'edit' | 'remove'; readonly category: Category }

export default function Consent() {
  const { may } = useWorkspace()
  const after = useAddress().get('after')
  const [opened, setOpened] = useState<Opened | undefined>(undefined)
  const categories = useQuery({
    key: ['categories', after],
    ask: (client, signal) =>
      client.get('/v1/workspaces/:Workspace_ID/categories', {
        query: { ...(after !== undefined && { after }) },
        signal,
      }),
    topics: ['audit'],
  })
  const add = may('categories.write') && (
    <Button kind="main" icon="plus" onClick={() => setOpened({ kind: 'add' })}>
      {consentText.add}
    </Button>
  )
  const none = (
    <Empty icon="list-checks" title={consentText.none} action={add}>
      {consentText.noneLead}
    </Empty>
  )
  const close = () => setOpened(undefined)
  return (
    <Page title={frameText.consent} lead={consentText.lead} actions={add}>
      <Card title={consentText.categories} lead={consentText.categoriesLead} isFlush>
        <Shown of={categories} empty={none}>
          {({ data, next_after: next }) => (
            <>
              <Categories categories={data} open={setOpened} />
              <Pager next={next} name="after">
                {consentText.counted(data.length)}
              </Pager>
            </>
          )}
        </Shown>
      </Card>
      {may('users.read') && <Proofs />}
      {opened?.kind === 'add' && <CategoryDialog category={undefined} onClose={close} />}
      {opened?.kind === 'edit' && <CategoryDialog category={opened.category} onClose={close} />}
      {opened?.kind === 'remove' && <Remove category={opened.category} onClose={close} />}
    </Page>
  )
}

interface CategoriesProps {
  readonly categories: readonly Category[]
  readonly open: (opened: Opened) => void
}

function Categories({ categories, open }: CategoriesProps) {
  const { may } = useWorkspace()
  return (
    <Table
      caption={consentText.categories}
      rows={categories}
      keyOf={({ name }) => name}
      columns={columnsOf(categories, may('categories.write') ? open : undefined)}
    />
  )
}

/** One column for each language in which a category has a label. */
function columnsOf(categories: readonly Category[], open: ((opened: Opened) => void) | undefined): Column<Category>[] {
  const languages = [...new Set(categories.flatMap(({ labels }) => Object.keys(labels)))].toSorted()
  const actions: Column<Category>[] = open
    ? [
        {
          title: consentText.actions,
          isTight: true,
          cell: (category) => <Actions category={category} open={open} />,
        },
      ]
    : []
  return [
    { title: consentText.name, cell: ({ name }) => name },
    ...languages.map((language) => ({
      title: language,
      cell: ({ name, labels }: Category) =>
        labels[language] ?? (
          <span class="quiet-text" title={consentText.fallback}>
            {name}
          </span>
        ),
    })),
    ...actions,
  ]
}

interface ActionsProps extends Pick<CategoriesProps, 'open'> {
  readonly category: Category
}

function Actions({ category, open }: ActionsProps) {
  return (
    <span class="row-actions">
      <Button
        kind="quiet"
        icon="pencil"
        label={consentText.editOf(category.name)}
        onClick={() => open({ kind: 'edit', category })}
      />
      <Button
        kind="quiet"
        icon="trash-2"
        label={consentText.removeOf(category.name)}
        onClick={() => open({ kind: 'remove', category })}
      />
    </span>
  )
}

/** Collects them first: the browser cannot save a stream that needs a header. */
function Proofs() {
  const { client } = useData()
  const { id } = useWorkspace()
  const save = () =>
    client.save(`consent-${id}.ndjson`, '/v1.0/opt-in-management/user-preferences/export', {
      accept: 'application/x-ndjson',
    })
  return (
    <Card
      title={consentText.proofsTitle}
      lead={consentText.proofsHint}
      actions={<SaveButton save={save}>{consentText.proofs}</SaveButton>}
    >
      {null}
    </Card>
  )
}

function Remove({ category: { name }, onClose }: { readonly category: Category; readonly onClose: () => void }) {
  const { client } = useData()
  const refresh = useRefresh()
  const act = async () => {
    await client.delete('/v1/workspaces/:Workspace_ID/categories/:name', { path: { name } })
    await refresh('categories')
    toast(consentText.removed)
  }
  return (
    <ConfirmDialog title={consentText.remove} word={name} act={act} onClose={onClose}>
      <p>{consentText.removeLead(name)}</p>
    </ConfirmDialog>
  )
}
