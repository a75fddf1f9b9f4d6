// The fields of a sender.
import type { ComponentChildren } from 'preact'
import { SENDER_LIMIT_DEFAULTS } from '../../../../src/core/senders/sender.ts'
import { Card } from '../../../components/content/card.tsx'
import { CheckField, SelectField, TextField } from '../../../components/controls/field.tsx'
import { senderText } from '../../../texts/settings/senders.ts'
import type { ListedSender, SenderSecrets, SenderValues } from './sender-values.ts'

interface SenderFieldsProps {
  /** As it is stored; undefined: a new one. */
  readonly sender?: ListedSender
  readonly values: SenderValues
  readonly change: (changes: Partial<SenderValues>) => void
  readonly secrets: SenderSecrets
  readonly changeSecrets: (changes: Partial<SenderSecrets>) => void
}

export function SenderFields(props: SenderFieldsProps) {
  return (
    <>
      <Who {...props} />
      <Server {...props} />
      <Signature {...props} />
      <Others {...props} />
    </>
  )
}

type TextName = Exclude<keyof SenderValues, 'isSigned' | 'security'>

interface ValueFieldProps extends Pick<SenderFieldsProps, 'values' | 'change'> {
  readonly name: TextName
  /** In the body, if that is another one. */
  readonly path?: string
  readonly type?: 'text' | 'email' | 'url'
  readonly isNumber?: boolean
  readonly hint?: ComponentChildren
  readonly isOptional?: boolean
}

function ValueField({ values, change, name, path = name, isNumber = false, ...field }: ValueFieldProps) {
  return (
    <TextField
      name={path}
      label={senderText[name]}
      inputMode={isNumber ? 'numeric' : 'text'}
      value={values[name]}
      onInput={(value) => change({ [name]: value })}
      {...field}
    />
  )
}

function Who(props: SenderFieldsProps) {
  return (
    <Card title={senderText.who}>
      <div class="form-row">
        <ValueField {...pick(props)} name="name" hint={senderText.nameHint} />
        <ValueField {...pick(props)} name="from_email" type="email" hint={senderText.from_emailHint} />
      </div>
      <div class="form-row">
        <ValueField {...pick(props)} name="from_name" hint={senderText.from_nameHint} />
        <ValueField {...pick(props)} name="reply_to" type="email" hint={senderText.reply_toHint} isOptional />
      </div>
    </Card>
  )
}

function Server(props: SenderFieldsProps) {
  const { sender, values, change, secrets, changeSecrets } = props
  return (
    <Card title={senderText.smtp}>
      <div class="form-row">
        <ValueField {...pick(props)} name="host" path="smtp.host" />
        <ValueField {...pick(props)} name="port" path="smtp.port" isNumber />
        <SelectField
          name="smtp.security"
          label={senderText.security}
          value={values.security}
          options={senderText.securities as readonly { value: SenderValues['security']; label: string }[]}
          onChange={(security) => change({ security })}
        />
      </div>
      <div class="form-row">
        <ValueField {...pick(props)} name="username" path="smtp.username" hint={senderText.usernameHint} isOptional />
        <TextField
          name="smtp.password"
          type="password"
          autoComplete="new-password"
          label={senderText.password}
          hint={sender?.smtp.has_password && senderText.passwordKept}
          isOptional
          value={secrets.password}
          onInput={(password) => changeSecrets({ password })}
        />
      </div>
    </Card>
  )
}

function Signature(props: SenderFieldsProps) {
  const { sender, values, change, secrets, changeSecrets } = props
  return (
    <Card title={senderText.dkim} lead={senderText.dkimLead}>
      <CheckField
        name="dkim"
        label={senderText.sign}
        isChecked={values.isSigned}
        onChange={(isSigned) => change({ isSigned })}
      />
      {values.isSigned && (
        <>
          <div class="form-row">
            <ValueField {...pick(props)} name="domain" path="dkim.domain" />
            <ValueField {...pick(props)} name="selector" path="dkim.selector" />
          </div>
          <TextField
            name="dkim.private_key"
            rows={4}
            isCode
            label={senderText.private_key}
            hint={sender?.dkim?.has_private_key ? senderText.private_keyKept : senderText.private_keyHint}
            value={secrets.private_key}
            onInput={(private_key) => changeSecrets({ private_key })}
          />
        </>
      )}
    </Card>
  )
}

function Others(props: SenderFieldsProps) {
  return (
    <Card title={senderText.more}>
      <div class="form-row">
        <ValueField {...pick(props)} name="return_path_domain" hint={senderText.return_path_domainHint} isOptional />
        <ValueField {...pick(props)} name="tracking_url" type="url" hint={senderText.tracking_urlHint} isOptional />
      </div>
      <div class="form-row even">
        <LimitField {...pick(props)} name="per_second" />
        <LimitField {...pick(props)} name="per_day" />
        <LimitField {...pick(props)} name="connections" />
        <LimitField {...pick(props)} name="messages_per_connection" />
      </div>
    </Card>
  )
}

function LimitField({ name, ...field }: Pick<SenderFieldsProps, 'values' | 'change'> & { readonly name: LimitName }) {
  return (
    <ValueField
      {...field}
      name={name}
      path={`limits.${name}`}
      hint={senderText.limitHint(DEFAULTS[name])}
      isNumber
      isOptional
    />
  )
}

type LimitName = keyof ListedSender['limits']

/** Null: no limit. */
const DEFAULTS: { readonly [name in LimitName]: number | null } = {
  per_second: SENDER_LIMIT_DEFAULTS.perSecond,
  per_day: SENDER_LIMIT_DEFAULTS.perDay,
  connections: SENDER_LIMIT_DEFAULTS.connections,
  messages_per_connection: SENDER_LIMIT_DEFAULTS.messagesPerConnection,
}

function pick({ values, change }: SenderFieldsProps): Pick<SenderFieldsProps, 'values' | 'change'> {
  return { values, change }
}
