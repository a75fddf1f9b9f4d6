// The second step: the sender, and the templates of the variations.
import type { Delivery } from '../../../../../src/core/delivery/delivery.ts'
import { VARIATIONS_MAX } from '../../../../../src/core/delivery/delivery-faults.ts'
import { Card } from '../../../../components/content/card.tsx'
import { Icon } from '../../../../components/content/icon.tsx'
import { Notice } from '../../../../components/content/notice.tsx'
import { Button } from '../../../../components/controls/button.tsx'
import { ChooseField } from '../../../../components/controls/choose-field.tsx'
import { CheckField, SelectField, TextField } from '../../../../components/controls/field.tsx'
import { useFault } from '../../../../components/controls/form.tsx'
import { useWorkspace } from '../../../../data/session.ts'
import { campaignEditorText } from '../../../../texts/campaigns/editor.ts'
import type { StepProps } from '../use-campaign-draft.ts'
import type { VariationForm } from '../campaign-form.ts'
import { TEMPLATE_CHOICES } from '../choices.ts'
import { PreviewCard } from './preview.tsx'
import { useSenders } from '../summary.ts'

export function ContentStep({ draft }: StepProps) {
  return (
    <>
      <SenderCard draft={draft} />
      <VariationsCard draft={draft} />
      <MoreContent draft={draft} />
      <PreviewCard draft={draft} />
    </>
  )
}

function SenderCard({ draft: { form, change } }: StepProps) {
  const { may, page } = useWorkspace()
  const senders = useSenders()
  if (senders.length === 0) {
    return (
      <Card title={campaignEditorText.from}>
        <Notice kind="warn">
          <p>{may('senders.write') ? campaignEditorText.noSender : campaignEditorText.noSenderOther}</p>
          {may('senders.write') && (
            <p>
              <a href={page('settings', 'senders')} target="_blank">
                {campaignEditorText.addSender}
              </a>
            </p>
          )}
        </Notice>
      </Card>
    )
  }
  const options = senders.map(({ sender_id: value, name, from_name, from_email }) => {
    return { value, label: `${name} – ${from_name} <${from_email}>` }
  })
  const isKnown = options.some(({ value }) => value === form.senderId)
  const missing = {
    value: form.senderId,
    label: form.senderId === '' ? campaignEditorText.chooseSender : form.senderId,
  }
  return (
    <Card title={campaignEditorText.from}>
      <SelectField
        name="delivery.sender_id"
        label={campaignEditorText.sender}
        hint={campaignEditorText.senderHint}
        value={form.senderId}
        options={isKnown ? options : [missing, ...options]}
        onChange={(senderId) => change({ senderId })}
      />
    </Card>
  )
}

function VariationsCard({ draft: { form, change } }: StepProps) {
  const { variations } = form
  const fault = useFault('delivery.variations')
  const set = (index: number, changes: Partial<VariationForm>) => {
    change({ variations: variations.map((one, at) => (at === index ? { ...one, ...changes } : one)) })
  }
  const add = () => {
    const name = 'ABCDE'[variations.length] ?? ''
    change({ variations: evenly([...variations, { name, share: '', templateId: '', version: '' }]) })
  }
  return (
    <Card title={campaignEditorText.contentTitle} lead={campaignEditorText.contentLead}>
      {variations.map((variation, index) => (
        <Variation
          key={index}
          variation={variation}
          name={`delivery.variations[${index}]`}
          isOnly={variations.length === 1}
          onChange={(changes) => set(index, changes)}
          onRemove={() => change({ variations: evenly(variations.toSpliced(index, 1)) })}
        />
      ))}
      {fault && (
        <p class="fault">
          <Icon name="circle-alert" />
          {campaignEditorText.contentTitle} {fault}
        </p>
      )}
      {variations.length < VARIATIONS_MAX && (
        <div>
          <Button kind="quiet" icon="plus" onClick={add}>
            {campaignEditorText.addVariation}
          </Button>
        </div>
      )}
    </Card>
  )
}

/** Shares with at most two decimals that add up to 100. */
function evenly(variations: readonly VariationForm[]): VariationForm[] {
  const each = Math.floor(10_000 / variations.length)
  return variations.map((variation, index) => {
    const parts = index === 0 ? 10_000 - each * (variations.length - 1) : each
    return { ...variation, share: String(parts / 100) }
  })
}

interface VariationProps {
  readonly variation: VariationForm
  /** Its path in the body. */
  readonly name: string
  readonly isOnly: boolean
  readonly onChange: (changes: Partial<VariationForm>) => void
  readonly onRemove: () => void
}

function Variation({ variation, name, isOnly, onChange, onRemove }: VariationProps) {
  const { page } = useWorkspace()
  const { name: title, share, templateId, version } = variation
  const template = (
    <ChooseField
      name={`${name}.external_template_id`}
      label={isOnly ? campaignEditorText.template : campaignEditorText.templateOf(title)}
      choices={TEMPLATE_CHOICES}
      value={templateId}
      onChange={(id) => onChange({ templateId: id, version: '' })}
      empty={<NoTemplates />}
      beside={
        <a href={page('templates', templateId)} target="_blank">
          {campaignEditorText.openTemplate}
        </a>
      }
    />
  )
  if (isOnly) return template
  return (
    <div class="variation stack" role="group" aria-label={campaignEditorText.variation(title)}>
      <div class="row apart">
        <h3>{campaignEditorText.variation(title)}</h3>
        <Button kind="quiet" icon="x" label={campaignEditorText.removeVariation(title)} onClick={onRemove} />
      </div>
      {template}
      <div class="form-row">
        <TextField
          name={`${name}.name`}
          label={campaignEditorText.variationName}
          value={title}
          onInput={(next) => onChange({ name: next })}
        />
        <TextField
          name={`${name}.share`}
          type="number"
          label={campaignEditorText.share}
          value={share}
          onInput={(next) => onChange({ share: next })}
        />
        <TextField
          name={`${name}.version`}
          type="number"
          label={campaignEditorText.version}
          hint={campaignEditorText.versionHint}
          isOptional
          value={version}
          onInput={(next) => onChange({ version: next })}
        />
      </div>
    </div>
  )
}

function NoTemplates() {
  const { page } = useWorkspace()
  return (
    <>
      <p>{campaignEditorText.noTemplates}</p>
      <p>
        <a href={page('templates', 'new')} target="_blank">
          {campaignEditorText.createTemplate}
        </a>
      </p>
    </>
  )
}

function MoreContent({ draft: { form, change } }: StepProps) {
  return (
    <details class="card">
      <summary>{campaignEditorText.moreContent}</summary>
      <div class="stack">
        <div class="form-row">
          <CheckField
            name="delivery.tracking.opens"
            label={campaignEditorText.opens}
            hint={campaignEditorText.opensHint}
            isChecked={form.tracksOpens}
            onChange={(tracksOpens) => change({ tracksOpens })}
          />
          <CheckField
            name="delivery.tracking.clicks"
            label={campaignEditorText.clicks}
            hint={campaignEditorText.clicksHint}
            isChecked={form.tracksClicks}
            onChange={(tracksClicks) => change({ tracksClicks })}
          />
        </div>
        <SelectField
          name="delivery.coupons_when_empty"
          label={campaignEditorText.coupons}
          value={form.couponsWhenEmpty}
          options={COUPON_OPTIONS}
          onChange={(couponsWhenEmpty) => change({ couponsWhenEmpty })}
        />
      </div>
    </details>
  )
}

const COUPON_OPTIONS = campaignEditorText.couponsOptions as { value: Delivery['couponsWhenEmpty']; label: string }[]
