// One condition, as a sentence whose words are controls.
import { OPERATORS } from '../../../../src/core/campaigns/goal.ts'
import { OPT_IN_STATUSES } from '../../../../src/core/users/preference.ts'
import { Button } from '../../../components/controls/button.tsx'
import { conditionText } from '../../../texts/segments.ts'
import {
  useAttributeNames,
  useCampaignChoices,
  useCategoryChoices,
  useEventNames,
  useSegmentChoices,
} from './condition-choices.ts'
import { InlineSelect, InlineText, optionsOf } from './inline-controls.tsx'
import type {
  AttributeForm,
  CampaignLeafForm,
  CategoryForm,
  ComparisonForm,
  CreatedForm,
  EventForm,
  LeafForm,
  ReferenceForm,
  StatusForm,
} from './leaf-form.ts'
import { DateText, TimeControl, ValueControl } from './value-controls.tsx'
import { NO_VALUE } from './value-form.ts'

interface LeafProps<Form> {
  readonly form: Form
  /** Where it stands in the condition that is sent. */
  readonly path: string
  readonly onChange: (form: Form) => void
}

/** The controls after the kind. */
export function LeafControls({ form, path, onChange }: LeafProps<LeafForm>) {
  switch (form.kind) {
    case 'attribute':
      return <AttributeControls form={form} path={path} onChange={onChange} />
    case 'event':
      return <EventControls form={form} path={path} onChange={onChange} />
    case 'campaign':
      return <CampaignControls form={form} path={path} onChange={onChange} />
    case 'status':
      return <StatusControls form={form} path={path} onChange={onChange} />
    case 'category':
      return <CategoryControls form={form} path={path} onChange={onChange} />
    case 'created':
      return <CreatedControls form={form} path={path} onChange={onChange} />
    case 'segment':
      return <ReferenceControls form={form} path={path} onChange={onChange} />
  }
}

function AttributeControls({ form, path, onChange }: LeafProps<AttributeForm>) {
  const names = useAttributeNames()
  const isTime = form.operator === 'before' || form.operator === 'after'
  return (
    <>
      <InlineText
        name={`${path}.attribute`}
        label={conditionText.attribute}
        placeholder={conditionText.attributeExample}
        offers={names}
        value={form.attribute}
        onInput={(attribute) => onChange({ ...form, attribute })}
      />
      <InlineSelect
        name={`${path}.operator`}
        label={conditionText.operator}
        value={form.operator}
        options={optionsOf(conditionText.operators)}
        onChange={(operator) => onChange({ ...form, operator })}
      />
      {isTime ? (
        <TimeControl name={`${path}.value`} time={form.time} onChange={(time) => onChange({ ...form, time })} />
      ) : (
        <ValueControl
          name={`${path}.value`}
          operator={form.operator}
          value={form.value}
          onChange={(value) => onChange({ ...form, value })}
        />
      )}
    </>
  )
}

function EventControls({ form, path, onChange }: LeafProps<EventForm>) {
  const names = useEventNames()
  const isCounted = form.count !== 'once' && form.count !== 'never'
  return (
    <>
      <InlineSelect
        name={`${path}.did`}
        label={conditionText.eventCount}
        value={form.count}
        options={optionsOf(conditionText.eventCounts)}
        onChange={(count) => onChange({ ...form, count })}
      />
      {isCounted && (
        <>
          <InlineText
            name={`${path}.times.${form.count}`}
            label={conditionText.timesNumber}
            type="number"
            width={7}
            value={form.times}
            onInput={(times) => onChange({ ...form, times })}
          />
          <span>{conditionText.times}</span>
        </>
      )}
      <InlineText
        name={`${path}.event`}
        label={conditionText.event}
        placeholder={conditionText.eventExample}
        offers={names}
        value={form.event}
        onInput={(event) => onChange({ ...form, event })}
      />
      <PeriodControls form={form} path={path} onChange={onChange} />
      <Comparisons path={`${path}.where`} where={form.where} onChange={(where) => onChange({ ...form, where })} />
    </>
  )
}

function PeriodControls({ form, path, onChange }: LeafProps<EventForm>) {
  return (
    <>
      <InlineSelect
        name={`${path}.period`}
        label={conditionText.period}
        value={form.period}
        options={optionsOf(conditionText.periods)}
        onChange={(period) => onChange({ ...form, period })}
      />
      {form.period === 'within_days' && (
        <Days path={path} days={form.days} onInput={(days) => onChange({ ...form, days })} />
      )}
      {form.period === 'between' && (
        <>
          <DateText
            name={`${path}.between.from`}
            label={conditionText.from}
            value={form.from}
            onInput={(from) => onChange({ ...form, from })}
          />
          <span>{conditionText.until}</span>
          <DateText
            name={`${path}.between.to`}
            label={conditionText.to}
            value={form.to}
            onInput={(to) => onChange({ ...form, to })}
          />
        </>
      )}
    </>
  )
}

function Days({
  path,
  days,
  onInput,
}: {
  readonly path: string
  readonly days: string
  readonly onInput: (days: string) => void
}) {
  return (
    <>
      <InlineText
        name={`${path}.within_days`}
        label={conditionText.days}
        type="number"
        width={8}
        value={days}
        onInput={onInput}
      />
      <span>{conditionText.daysWord}</span>
    </>
  )
}

interface ComparisonsProps {
  readonly path: string
  readonly where: readonly ComparisonForm[]
  readonly onChange: (where: readonly ComparisonForm[]) => void
}

/** Comparisons on the attributes of an event: all of them must hold for the same event. */
export function Comparisons({ path, where, onChange }: ComparisonsProps) {
  const change = (index: number, changes: Partial<ComparisonForm>) => {
    onChange(where.map((one, at) => (at === index ? { ...one, ...changes } : one)))
  }
  return (
    <>
      {where.map(({ attribute, operator, value }, index) => (
        <span class="comparison" key={index}>
          <span>{index === 0 ? conditionText.whose : conditionText.andWhose}</span>
          <InlineText
            name={`${path}[${index}].attribute`}
            label={conditionText.attribute}
            placeholder="amount"
            value={attribute}
            width={14}
            onInput={(next) => change(index, { attribute: next })}
          />
          <InlineSelect
            name={`${path}[${index}].operator`}
            label={conditionText.operator}
            value={operator}
            options={OPERATORS.map((one) => ({ value: one, label: conditionText.operators[one] }))}
            onChange={(next) => change(index, { operator: next })}
          />
          <ValueControl
            name={`${path}[${index}].value`}
            operator={operator}
            value={value}
            onChange={(next) => change(index, { value: next })}
          />
          <Button
            kind="quiet"
            icon="x"
            label={conditionText.removeDetail}
            onClick={() => onChange(where.toSpliced(index, 1))}
          />
        </span>
      ))}
      <Button
        kind="quiet"
        icon="plus"
        onClick={() => onChange([...where, { attribute: '', operator: 'is', value: NO_VALUE }])}
      >
        {conditionText.where}
      </Button>
    </>
  )
}

function CampaignControls({ form, path, onChange }: LeafProps<CampaignLeafForm>) {
  const choices = useCampaignChoices()
  return (
    <>
      <InlineSelect
        name={`${path}.did`}
        label={conditionText.campaignDid}
        value={form.did}
        options={optionsOf(conditionText.campaignDids)}
        onChange={(did) => onChange({ ...form, did })}
      />
      <NamedSelect
        name={`${path}.campaign`}
        label={conditionText.campaignName}
        choose={conditionText.chooseCampaign}
        value={form.campaign}
        choices={choices}
        onChange={(campaign) => onChange({ ...form, campaign })}
      />
      <InlineSelect
        name={`${path}.period`}
        label={conditionText.period}
        value={form.period}
        options={[
          { value: 'ever', label: conditionText.periods.ever },
          { value: 'within_days', label: conditionText.periods.within_days },
        ]}
        onChange={(period) => onChange({ ...form, period })}
      />
      {form.period === 'within_days' && (
        <Days path={path} days={form.days} onInput={(days) => onChange({ ...form, days })} />
      )}
    </>
  )
}

function StatusControls({ form, path, onChange }: LeafProps<StatusForm>) {
  const toggle = (status: StatusForm['statuses'][number], isOn: boolean) => {
    const statuses = OPT_IN_STATUSES.filter((one) => (one === status ? isOn : form.statuses.includes(one)))
    onChange({ ...form, statuses })
  }
  return (
    <span class="row" role="group" aria-label={conditionText.kinds.status}>
      <span>{conditionText.status}</span>
      {OPT_IN_STATUSES.map((status) => (
        <label class="choice" key={status}>
          <input
            type="checkbox"
            name={`${path}.preference.opt_in_status`}
            checked={form.statuses.includes(status)}
            onChange={({ currentTarget }) => toggle(status, currentTarget.checked)}
          />
          {conditionText.statuses[status]}
        </label>
      ))}
    </span>
  )
}

function CategoryControls({ form, path, onChange }: LeafProps<CategoryForm>) {
  const choices = useCategoryChoices().map((name) => ({ id: name, name }))
  return (
    <>
      <InlineSelect
        name={`${path}.preference.is`}
        label={conditionText.categoryIs}
        value={form.is}
        options={CATEGORY_DECISIONS}
        onChange={(is) => onChange({ ...form, is })}
      />
      <NamedSelect
        name={`${path}.preference.category`}
        label={conditionText.category}
        choose={conditionText.chooseCategory}
        value={form.category}
        choices={choices}
        onChange={(category) => onChange({ ...form, category })}
      />
    </>
  )
}

const CATEGORY_DECISIONS = conditionText.categoryIsOptions as { value: CategoryForm['is']; label: string }[]
const CREATED_SIDES = conditionText.createdSides as { value: CreatedForm['side']; label: string }[]

function CreatedControls({ form, path, onChange }: LeafProps<CreatedForm>) {
  const { side, before, after } = form
  return (
    <>
      <InlineSelect
        name={`${path}.created`}
        label={conditionText.createdSide}
        value={side}
        options={CREATED_SIDES}
        onChange={(next) => onChange({ ...form, side: next })}
      />
      {side !== 'before' && (
        <TimeControl
          name={`${path}.created.after`}
          time={after}
          onChange={(time) => onChange({ ...form, after: time })}
        />
      )}
      {side === 'both' && <span>{conditionText.and}</span>}
      {side !== 'after' && (
        <TimeControl
          name={`${path}.created.before`}
          time={before}
          onChange={(time) => onChange({ ...form, before: time })}
        />
      )}
    </>
  )
}

function ReferenceControls({ form, path, onChange }: LeafProps<ReferenceForm>) {
  return (
    <>
      <span>{conditionText.segment}</span>
      <NamedSelect
        name={`${path}.segment`}
        label={conditionText.segmentName}
        choose={conditionText.chooseSegment}
        value={form.segment}
        choices={useSegmentChoices()}
        onChange={(segment) => onChange({ ...form, segment })}
      />
    </>
  )
}

interface NamedSelectProps {
  readonly name: string
  readonly label: string
  readonly choose: string
  /** An id. */
  readonly value: string
  readonly choices: readonly { readonly id: string; readonly name: string }[]
  readonly onChange: (id: string) => void
}

/** Something of the workspace. What is chosen already is offered even if it is not among the newest. */
function NamedSelect({ choose, value, choices, ...select }: NamedSelectProps) {
  const isListed = value === '' || choices.some(({ id }) => id === value)
  const listed = choices.map(({ id, name }) => ({ value: id, label: name }))
  const options = [{ value: '', label: choose }, ...(isListed ? [] : [{ value, label: value }]), ...listed]
  return <InlineSelect {...select} value={value} options={options} />
}
