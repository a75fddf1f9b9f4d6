// The keys with which mail services prove that their reports are theirs: set, replaced or removed, never shown.
import { useState } from 'preact/hooks'
import { Badge } from '../../../components/content/badge.tsx'
import { Card } from '../../../components/content/card.tsx'
import { Table, type Column } from '../../../components/content/table.tsx'
import { toast } from '../../../components/content/toasts.tsx'
import { Button } from '../../../components/controls/button.tsx'
import { ConfirmDialog, Dialog } from '../../../components/controls/dialog.tsx'
import { TextField } from '../../../components/controls/field.tsx'
import { Form } from '../../../components/controls/form.tsx'
import { Menu } from '../../../components/controls/menu.tsx'
import { useData, useRefresh } from '../../../data/queries.ts'
import { useWorkspace } from '../../../data/session.ts'
import { formText } from '../../../texts/form.ts'
import { feedbackText } from '../../../texts/settings/workspace-settings.ts'
import type { WorkspaceBody } from './setting-values.ts'

type Service = keyof typeof feedbackText.services

const SERVICES = Object.keys(feedbackText.services) as Service[]

interface Opened {
  readonly service: Service
  readonly kind: 'set' | 'replace' | 'remove'
}

export function FeedbackKeys({ settings }: Pick<WorkspaceBody, 'settings'>) {
  const { may } = useWorkspace()
  const [opened, setOpened] = useState<Opened | undefined>(undefined)
  const isSet = (service: Service) => settings[`feedback.${service}`] !== null
  const close = () => setOpened(undefined)
  return (
    <Card title={feedbackText.title} lead={feedbackText.lead} isFlush>
      <Table
        caption={feedbackText.title}
        rows={SERVICES}
        keyOf={(service) => service}
        columns={columnsOfServices(isSet, may('settings.write') ? setOpened : undefined)}
      />
      {opened && opened.kind !== 'remove' && <SetKey opened={opened} onClose={close} />}
      {opened?.kind === 'remove' && <RemoveKey service={opened.service} onClose={close} />}
    </Card>
  )
}

function columnsOfServices(
  isSet: (service: Service) => boolean,
  open: ((opened: Opened) => void) | undefined,
): Column<Service>[] {
  return [
    { title: feedbackText.service, cell: (service) => feedbackText.services[service] },
    {
      title: feedbackText.key,
      cell: (service) =>
        isSet(service) ? <Badge kind="good">{feedbackText.isSet}</Badge> : <Badge>{feedbackText.isNotSet}</Badge>,
    },
    ...(open
      ? [
          {
            title: feedbackText.actions,
            isTight: true,
            cell: (service: Service) => (
              <span class="row-actions">
                <Actions service={service} isSet={isSet(service)} open={open} />
              </span>
            ),
          },
        ]
      : []),
  ]
}

interface ActionsProps {
  readonly service: Service
  readonly isSet: boolean
  readonly open: (opened: Opened) => void
}

function Actions({ service, isSet, open }: ActionsProps) {
  const name = feedbackText.services[service]
  if (!isSet) {
    return (
      <Button onClick={() => open({ service, kind: 'set' })} label={feedbackText.setOf(name)}>
        {feedbackText.set}
      </Button>
    )
  }
  const items = [
    { label: feedbackText.replace, onClick: () => open({ service, kind: 'replace' }) },
    { label: feedbackText.remove, isDangerous: true, onClick: () => open({ service, kind: 'remove' }) },
  ]
  return <Menu label={`${feedbackText.actions}: ${name}`} items={items} />
}

function SetKey({ opened: { service, kind }, onClose }: { readonly opened: Opened; readonly onClose: () => void }) {
  const { client } = useData()
  const refresh = useRefresh()
  const [key, setKey] = useState('')
  const send = async () => {
    await client.patch('/v1/workspaces/:Workspace_ID', { body: { settings: { [`feedback.${service}`]: key } } })
    await refresh('workspace')
    toast(feedbackText.saved)
    onClose()
  }
  const name = feedbackText.services[service]
  return (
    <Dialog title={kind === 'set' ? feedbackText.setOf(name) : feedbackText.replaceOf(name)} onClose={onClose}>
      <Form
        isDialog
        send={send}
        submit={kind === 'set' ? feedbackText.set : feedbackText.replace}
        others={<Button onClick={onClose}>{formText.cancel}</Button>}
      >
        <TextField
          name={`settings.feedback.${service}`}
          label={feedbackText.fields[service]}
          isCode
          rows={3}
          value={key}
          onInput={setKey}
        />
      </Form>
    </Dialog>
  )
}

function RemoveKey({ service, onClose }: { readonly service: Service; readonly onClose: () => void }) {
  const { client } = useData()
  const refresh = useRefresh()
  const name = feedbackText.services[service]
  const act = async () => {
    await client.patch('/v1/workspaces/:Workspace_ID', { body: { settings: { [`feedback.${service}`]: null } } })
    await refresh('workspace')
    toast(feedbackText.removed)
  }
  return (
    <ConfirmDialog title={feedbackText.removeOf(name)} isDangerous act={act} onClose={onClose}>
      <p>{feedbackText.removeLead(name)}</p>
    </ConfirmDialog>
  )
}
