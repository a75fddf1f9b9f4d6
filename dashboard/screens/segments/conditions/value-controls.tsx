// The controls of a comparison: attribute, operator, and value with its type, and of a time.
import type { SegmentOperator } from '../../../../src/core/segments/condition.ts'
import { conditionText } from '../../../texts/segments.ts'
import { InlineSelect, InlineText, optionsOf } from './inline-controls.tsx'
import type { TimeForm } from './time-form.ts'
import { needsNumber, type ValueForm, type ValueType } from './value-form.ts'

interface ValueControlProps {
  readonly name: string
  readonly operator: SegmentOperator
  readonly value: ValueForm
  readonly onChange: (value: ValueForm) => void
}

export function ValueControl({ name, operator, value, onChange }: ValueControlProps) {
  if (operator === 'exists') return null
  const type: ValueType = needsNumber(operator) ? 'number' : operator === 'starts_with' ? 'text' : value.type
  const setText = (text: string) => onChange({ type, text })
  const isList = operator === 'is_one_of'
  const shared = { name, value: value.text, onInput: setText }
  return (
    <>
      {isList ? (
        <InlineText {...shared} label={conditionText.values} placeholder={conditionText.values} rows={3} width={26} />
      ) : type === 'boolean' ? (
        <InlineSelect
          name={name}
          label={conditionText.value}
          value={value.text === 'false' ? 'false' : 'true'}
          options={[
            { value: 'true', label: conditionText.yes },
            { value: 'false', label: conditionText.no },
          ]}
          onChange={setText}
        />
      ) : (
        <InlineText {...shared} label={conditionText.value} width={type === 'number' ? 10 : 18} />
      )}
      {!needsNumber(operator) && operator !== 'starts_with' && (
        <InlineSelect
          name={`${name} type`}
          label={conditionText.valueType}
          value={type}
          options={optionsOf(conditionText.valueTypes)}
          onChange={(next) => onChange({ type: next, text: next === 'boolean' ? 'true' : value.text })}
        />
      )}
    </>
  )
}

const TIME_MODES = conditionText.timeModes as { value: TimeForm['mode']; label: string }[]

interface TimeControlProps {
  readonly name: string
  readonly time: TimeForm
  readonly onChange: (time: TimeForm) => void
}

export function TimeControl({ name, time, onChange }: TimeControlProps) {
  return (
    <>
      <InlineSelect
        name={`${name} mode`}
        label={conditionText.timeMode}
        value={time.mode}
        options={TIME_MODES}
        onChange={(mode) => onChange({ ...time, mode })}
      />
      {time.mode === 'date' ? (
        <DateText
          name={name}
          label={conditionText.date}
          value={time.date}
          onInput={(date) => onChange({ ...time, date })}
        />
      ) : (
        <>
          <InlineText
            name={`${name}.days_ago`}
            label={conditionText.days}
            type="number"
            width={8}
            value={time.days}
            onInput={(days) => onChange({ ...time, days })}
          />
          <span>{conditionText.daysWord}</span>
        </>
      )}
    </>
  )
}

interface DateTextProps {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
}

/** A date; an instant with a zone, which only programs write, stays a text. */
export function DateText(props: DateTextProps) {
  const isDate = props.value === '' || /^\d{4}-\d\d-\d\d$/.test(props.value)
  return <InlineText {...props} type={isDate ? 'date' : 'text'} width={isDate ? 16 : 26} />
}
