// Settings › Workspace: every setting of the workspace. Secrets have a card of their own, because drafts are kept in the tab.
import { useContext } from 'preact/hooks'
import { Card } from '../../components/content/card.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { EditForm } from '../../components/controls/edit-form.tsx'
import { CheckField, SelectField, TextField } from '../../components/controls/field.tsx'
import { SettingsPage } from '../../components/frame/settings-page.tsx'
import { useEdit, type Edit } from '../../data/forms/edits.ts'
import { useData, useQuery, useRefresh } from '../../data/queries.ts'
import { SessionRefreshContext, useWorkspace } from '../../data/session.ts'
import { workspaceText } from '../../texts/settings/workspace-settings.ts'
import { FeedbackKeys } from './workspace/feedback.tsx'
import {
  LIMIT_SETTINGS,
  SETTING_LABELS,
  toFormValues,
  toSettings,
  type FormValues,
  type WorkspaceBody,
} from './workspace/setting-values.ts'

export default function WorkspaceSettings() {
  const { id } = useWorkspace()
  const workspace = useQuery({
    key: ['workspace'],
    ask: (client, signal) => client.get('/v1/workspaces/:Workspace_ID', { signal }),
    topics: ['audit'],
  })
  return (
    <SettingsPage title={workspaceText.title} lead={workspaceText.lead(id)}>
      <Shown of={workspace} lines={9}>
        {(body) => <Settings body={body} />}
      </Shown>
    </SettingsPage>
  )
}

function Settings({ body }: { readonly body: WorkspaceBody }) {
  const { client } = useData()
  const refresh = useRefresh()
  const refreshSession = useContext(SessionRefreshContext)
  const { may } = useWorkspace()
  const edit = useEdit('settings', toFormValues(body), body.revision)
  const save = () =>
    client.patch('/v1/workspaces/:Workspace_ID', {
      body: { settings: toSettings(edit.changes), if_revision: Number(edit.seen) },
    })
  return (
    <div class="sections long-form">
      <EditForm
        edit={edit}
        labels={SETTING_LABELS}
        save={save}
        refresh={() => Promise.all([refresh('workspace'), refreshSession()])}
        submit={workspaceText.submit}
        done={workspaceText.done}
      >
        <fieldset class="sections" disabled={!may('settings.write')}>
          <General edit={edit} />
          <Identity edit={edit} />
          <EventsAndDelivery edit={edit} />
          <LimitFields edit={edit} />
        </fieldset>
      </EditForm>
      <FeedbackKeys settings={body.settings} />
    </div>
  )
}

interface PartProps {
  readonly edit: Edit<FormValues>
}

const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]

function General({ edit: { values, change } }: PartProps) {
  const { timezone } = values
  const zones = ZONES.includes(timezone) ? ZONES : [timezone, ...ZONES]
  return (
    <Card title={workspaceText.general}>
      <div class="form-row">
        <TextField
          name="settings.name"
          label={workspaceText.name}
          value={values.name}
          onInput={(name) => change({ name })}
        />
        <SelectField
          name="settings.timezone"
          label={workspaceText.timezone}
          hint={workspaceText.timezoneHint}
          value={timezone}
          options={zones.map((zone) => ({ value: zone, label: zone.replaceAll('_', ' ') }))}
          onChange={(zone) => change({ timezone: zone })}
        />
      </div>
      <CheckField
        name="settings.suspended"
        label={workspaceText.suspended}
        hint={workspaceText.suspendedHint}
        isChecked={values.suspended}
        onChange={(suspended) => change({ suspended })}
      />
    </Card>
  )
}

function Identity({ edit }: PartProps) {
  const { values, change } = edit
  return (
    <Card title={workspaceText.identity} lead={workspaceText.identityLead}>
      <div class="form-row">
        <SelectField
          name="settings.email_protection"
          label={workspaceText.email_protection}
          hint={workspaceText.email_protectionHint}
          value={values.email_protection}
          options={workspaceText.protections}
          onChange={(email_protection) => change({ email_protection })}
        />
        <NumberSetting edit={edit} name="joined_customer_ids_max" />
      </div>
      <div class="form-row">
        <LinesSetting edit={edit} name="identity_resolution" />
        <LinesSetting edit={edit} name="project_codes" />
      </div>
    </Card>
  )
}

function EventsAndDelivery({ edit }: PartProps) {
  const { values, change } = edit
  const { may } = useWorkspace()
  const senders = useQuery({
    key: ['senders'],
    ask: (client, signal) => client.get('/core-services/v1/senders', { signal }),
    isWanted: may('senders.read'),
  })
  const known = senders.state === 'filled' ? senders.answer.data : []
  const options = known.map(({ sender_id: value, name, from_email: email }) => ({ value, label: `${name} (${email})` }))
  const { alert_sender_id: chosen } = values
  if (chosen !== '' && known.every(({ sender_id: id }) => id !== chosen)) options.push({ value: chosen, label: chosen })
  return (
    <>
      <Card title={workspaceText.events}>
        <div class="form-row">
          <NumberSetting edit={edit} name="clock_skew_seconds" />
          <TextField
            name="settings.retention_days.events"
            inputMode="numeric"
            label={workspaceText.retention}
            hint={workspaceText.retentionHint}
            value={values['retention_days.events']}
            onInput={(days) => change({ 'retention_days.events': days })}
          />
        </div>
      </Card>
      <Card title={workspaceText.delivery}>
        <div class="form-row">
          <NumberSetting edit={edit} name="global_control_percent" />
          <SelectField
            name="settings.alert_sender_id"
            label={workspaceText.alert_sender_id}
            value={chosen}
            options={[{ value: '', label: workspaceText.noSender }, ...options]}
            onChange={(id) => change({ alert_sender_id: id })}
          />
        </div>
        <LinesSetting edit={edit} name="frequency_caps" />
      </Card>
    </>
  )
}

function LimitFields({ edit: { values, change } }: PartProps) {
  return (
    <Card title={workspaceText.limits} lead={workspaceText.limitsLead}>
      <div class="form-row even">
        {LIMIT_SETTINGS.map((name) => (
          <TextField
            key={name}
            name={`settings.${name}`}
            inputMode="numeric"
            label={workspaceText.limitNames[name]}
            value={values[name]}
            onInput={(units) => change({ [name]: units })}
          />
        ))}
      </div>
    </Card>
  )
}

type NumberName = 'joined_customer_ids_max' | 'clock_skew_seconds' | 'global_control_percent'

function NumberSetting({ edit, name }: PartProps & { readonly name: NumberName }) {
  return (
    <TextField
      name={`settings.${name}`}
      inputMode="numeric"
      label={workspaceText[name]}
      hint={workspaceText[`${name}Hint`]}
      value={edit.values[name]}
      onInput={(value) => edit.change({ [name]: value })}
    />
  )
}

type LinesName = 'identity_resolution' | 'project_codes' | 'frequency_caps'

function LinesSetting({ edit, name }: PartProps & { readonly name: LinesName }) {
  return (
    <TextField
      name={`settings.${name}`}
      rows={3}
      isCode
      label={workspaceText[name]}
      hint={workspaceText[`${name}Hint`]}
      value={edit.values[name]}
      onInput={(value) => edit.change({ [name]: value })}
    />
  )
}
