// Settings › Senders › one of them: its fields, and what a check finds out.
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { Notice } from '../../components/content/notice.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { toast } from '../../components/content/toasts.tsx'
import { Button } from '../../components/controls/button.tsx'
import { ConfirmDialog } from '../../components/controls/dialog.tsx'
import { EditForm } from '../../components/controls/edit-form.tsx'
import { Form } from '../../components/controls/form.tsx'
import { SettingsPage } from '../../components/frame/settings-page.tsx'
import { typedSince, useDraft } from '../../data/forms/drafts.ts'
import { useEdit } from '../../data/forms/edits.ts'
import { useData, useQuery, useRefresh } from '../../data/queries.ts'
import { useRepeatKey } from '../../data/forms/repeat-keys.ts'
import { useWorkspace } from '../../data/session.ts'
import { senderText, sendersText } from '../../texts/settings/senders.ts'
import { Checks } from './sender/checks.tsx'
import { SenderFields } from './sender/sender-fields.tsx'
import {
  NEW_SENDER,
  NO_SECRETS,
  SENDER_LABELS,
  toNewSender,
  toChangedSender,
  toSenderValues,
  type ListedSender,
} from './sender/sender-values.ts'

export default function SenderPage({ sender_id: id }: { readonly sender_id: string }) {
  const { page, may } = useWorkspace()
  const parent = { href: page('settings', 'senders'), title: sendersText.title }
  const isNew = id === NEW_SENDER
  const [isDeleted, setDeleted] = useState(false)
  const sender = useQuery({
    key: ['sender', id],
    ask: (client, signal) => client.get('/core-services/v1/senders/:sender_id', { path: { sender_id: id }, signal }),
    topics: ['audit'],
    isWanted: !isNew && !isDeleted,
  })
  if (isNew && may('senders.write')) {
    return (
      <SettingsPage title={senderText.fresh} parent={parent}>
        <div class="long-form">
          <NewSender />
        </div>
      </SettingsPage>
    )
  }
  if (sender.state !== 'filled') {
    return (
      <SettingsPage title={sendersText.title} parent={parent}>
        <Shown of={sender}>{() => null}</Shown>
      </SettingsPage>
    )
  }
  const { answer } = sender
  return (
    <SettingsPage
      title={answer.name}
      parent={parent}
      actions={may('senders.write') && <Remove sender={answer} onDeleted={() => setDeleted(true)} />}
    >
      {may('senders.write') && <Checks senderId={answer.sender_id} />}
      <div class="long-form">
        <EditSender sender={answer} />
      </div>
    </SettingsPage>
  )
}

function NewSender() {
  const { client } = useData()
  const refresh = useRefresh()
  const { page } = useWorkspace()
  const { route } = useLocation()
  const keyOf = useRepeatKey()
  const { value, change, forget } = useDraft('new sender', toSenderValues(undefined))
  const [secrets, setSecrets] = useState(NO_SECRETS)
  const send = async () => {
    const body = toNewSender(value, secrets)
    const made = await client.post('/core-services/v1/senders', { body, idempotencyKey: keyOf(body) })
    forget()
    await refresh('senders')
    toast(senderText.created)
    route(page('settings', 'senders', made.sender_id), true)
  }
  return (
    <Form send={send} submit={sendersText.create}>
      <SenderFields
        values={value}
        change={(changes) => change({ ...value, ...changes })}
        secrets={secrets}
        changeSecrets={(changes) => setSecrets({ ...secrets, ...changes })}
      />
    </Form>
  )
}

function EditSender({ sender }: { readonly sender: ListedSender }) {
  const { client } = useData()
  const refresh = useRefresh()
  const { may } = useWorkspace()
  const { sender_id: id } = sender
  const edit = useEdit('sender', toSenderValues(sender), sender.updated_at)
  const [secrets, setSecrets] = useState(NO_SECRETS)
  const [warnings, setWarnings] = useState<readonly string[]>([])
  const save = async () => {
    const body = { ...toChangedSender(edit.changes, secrets), if_updated_at: String(edit.seen) }
    const saved = await client.patch('/core-services/v1/senders/:sender_id', { path: { sender_id: id }, body })
    setWarnings(saved.warnings?.map(({ field, problem }) => `${field} ${problem}`) ?? [])
  }
  return (
    <EditForm
      edit={edit}
      labels={SENDER_LABELS}
      save={save}
      refresh={() => Promise.all([refresh('sender', id), refresh('senders')])}
      submit={senderText.save}
      done={senderText.saved}
      hasMore={secrets.password !== '' || secrets.private_key !== ''}
      onSaved={() => setSecrets((typed) => ({ ...NO_SECRETS, ...typedSince(secrets, typed) }))}
    >
      <fieldset class="sections" disabled={!may('senders.write')}>
        <SenderFields
          sender={sender}
          values={edit.values}
          change={edit.change}
          secrets={secrets}
          changeSecrets={(changes) => setSecrets({ ...secrets, ...changes })}
        />
      </fieldset>
      {warnings.length > 0 && (
        <Notice kind="warn" isAlert>
          <p>{senderText.warnings}</p>
          <ul>
            {warnings.map((warning) => (
              <li key={warning}>{warning}</li>
            ))}
          </ul>
        </Notice>
      )}
    </EditForm>
  )
}

function Remove({ sender, onDeleted }: { readonly sender: ListedSender; readonly onDeleted: () => void }) {
  const { client } = useData()
  const refresh = useRefresh()
  const { page } = useWorkspace()
  const { route } = useLocation()
  const [isOpen, setOpen] = useState(false)
  const act = async () => {
    await client.delete('/core-services/v1/senders/:sender_id', { path: { sender_id: sender.sender_id } })
    onDeleted()
    await refresh('senders')
    toast(senderText.removed)
    route(page('settings', 'senders'), true)
  }
  return (
    <>
      <Button kind="danger" onClick={() => setOpen(true)}>
        {senderText.remove}
      </Button>
      {isOpen && (
        <ConfirmDialog title={senderText.remove} word={sender.name} act={act} onClose={() => setOpen(false)}>
          <p>{senderText.removeLead}</p>
        </ConfirmDialog>
      )}
    </>
  )
}
