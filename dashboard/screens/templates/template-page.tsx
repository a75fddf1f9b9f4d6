// The pages of one template: its name, state and actions, the tabs, and what a tab shows.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { Badge } from '../../components/content/badge.tsx'
import { Notice } from '../../components/content/notice.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { toast } from '../../components/content/toasts.tsx'
import { Button } from '../../components/controls/button.tsx'
import { ConfirmDialog } from '../../components/controls/dialog.tsx'
import { Menu } from '../../components/controls/menu.tsx'
import { Page } from '../../components/frame/page.tsx'
import { forgetDraft } from '../../data/forms/drafts.ts'
import { useData, useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { templatesText, templateText } from '../../texts/templates.ts'
import { TEMPLATE_DRAFT, type TemplateAnswer } from './editor/template-fields.ts'

const TABS = ['edit', 'versions', 'group'] as const
type Tab = (typeof TABS)[number]

interface TemplatePageProps {
  readonly id: string
  readonly tab: Tab
  readonly lead?: string
  readonly children: (template: TemplateAnswer) => ComponentChildren
}

export function TemplatePage({ id, tab, lead, children }: TemplatePageProps) {
  const { page, may } = useWorkspace()
  const [isDeleted, setDeleted] = useState(false)
  const query = useQuery({
    key: ['template', id],
    isWanted: !isDeleted,
    ask: (client, signal) => {
      return client.get('/v1.0/custom-templates/email/:external_template_id', {
        path: { external_template_id: id },
        query: {},
        signal,
      })
    },
    topics: ['audit'],
  })
  const template = 'answer' in query ? query.answer : undefined
  const isArchived = template?.archived_at !== undefined
  return (
    <Page
      title={template?.meta_info.template_name ?? templatesText.title}
      beside={template && <States template={template} />}
      lead={lead}
      parent={{ href: page('templates'), title: templatesText.title }}
      actions={
        template &&
        may('templates.write') && <Actions template={template} again={query.again} onDeleted={() => setDeleted(true)} />
      }
    >
      <nav class="tabs" aria-label={templatesText.title}>
        {TABS.map((name) => {
          const href = name === 'edit' ? page('templates', id) : page('templates', id, name)
          return (
            <a key={name} class="tab" href={href} aria-current={name === tab ? 'page' : undefined}>
              {templateText.tabs[name]}
            </a>
          )
        })}
      </nav>
      {isArchived && <Notice kind="warn">{templateText.isArchived}</Notice>}
      <Shown of={query} lines={8}>
        {children}
      </Shown>
    </Page>
  )
}

function States({ template }: { readonly template: TemplateAnswer }) {
  return (
    <>
      <Badge>{templateText.versionNumber(template.latest_version)}</Badge>
      {template.archived_at !== undefined && <Badge kind="warn">{templatesText.isArchived}</Badge>}
    </>
  )
}

type Action = 'archive' | 'restore' | 'delete'

interface ActionsProps {
  readonly template: TemplateAnswer
  readonly again: () => void
  readonly onDeleted: () => void
}

function Actions({ template, again, onDeleted }: ActionsProps) {
  const { page } = useWorkspace()
  const [asked, setAsked] = useState<Action | undefined>(undefined)
  const isArchived = template.archived_at !== undefined
  const copy = `${page('templates', 'new')}?from=${encodeURIComponent(template.external_template_id)}`
  return (
    <>
      {isArchived && <Button onClick={() => setAsked('restore')}>{templateText.restore}</Button>}
      <Menu
        label={templateText.actions}
        buttonClass="button"
        items={[
          { label: templateText.duplicate, icon: 'copy', href: copy },
          ...(isArchived ? [] : [{ label: templateText.archive, onClick: () => setAsked('archive') }]),
          { label: templateText.delete, isDangerous: true, onClick: () => setAsked('delete') },
        ]}
      />
      {asked && (
        <Confirmation
          action={asked}
          template={template}
          again={again}
          onDeleted={onDeleted}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  )
}

interface ConfirmationProps extends ActionsProps {
  readonly action: Action
  readonly onClose: () => void
}

function Confirmation({ action, template, again, onDeleted, onClose }: ConfirmationProps) {
  const { client } = useData()
  const { page } = useWorkspace()
  const { route } = useLocation()
  const asked = { path: { external_template_id: template.external_template_id } }
  if (action === 'delete') {
    const remove = async () => {
      await client.delete('/v1.0/custom-templates/email/:external_template_id', asked)
      onDeleted()
      forgetDraft(page('templates', template.external_template_id), TEMPLATE_DRAFT)
      toast(templateText.deletedToast)
      route(page('templates'), true)
    }
    return (
      <ConfirmDialog title={templateText.delete} word={template.meta_info.template_id} act={remove} onClose={onClose}>
        {templateText.deleteLead(template.latest_version)}
      </ConfirmDialog>
    )
  }
  const isArchive = action === 'archive'
  const change = async () => {
    if (isArchive) await client.put('/v1.0/custom-templates/email/:external_template_id/archive', asked)
    else await client.put('/v1.0/custom-templates/email/:external_template_id/restore', asked)
    toast(isArchive ? templateText.archivedToast : templateText.restoredToast)
    again()
  }
  return (
    <ConfirmDialog title={isArchive ? templateText.archive : templateText.restore} act={change} onClose={onClose}>
      {isArchive ? templateText.archiveLead : templateText.restoreLead}
    </ConfirmDialog>
  )
}
