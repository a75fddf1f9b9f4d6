// Controls within a sentence: their label is for readers of the screen, their fault stands below them.
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Icon } from '../../../components/content/icon.tsx'
import { Offers, type Option } from '../../../components/controls/field.tsx'
import { useFault } from '../../../components/controls/form.tsx'

interface InlineProps {
  /** Its path in the body, as faults name it. */
  readonly name: string
  readonly label: string
}

interface InlineTextProps extends InlineProps {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly type?: 'text' | 'number' | 'date'
  readonly placeholder?: string
  /** What it offers. */
  readonly offers?: readonly string[]
  /** In characters. */
  readonly width?: number
  readonly rows?: number
}

export function InlineText({
  name,
  label,
  value,
  onInput,
  type = 'text',
  placeholder,
  offers,
  width = 18,
  rows,
}: InlineTextProps) {
  const id = useId()
  const shared = {
    class: 'input',
    'aria-label': label,
    value,
    placeholder,
    autoComplete: 'off',
    spellcheck: false,
    style: { width: `${width}ch` },
    onInput: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
      onInput(currentTarget.value),
  }
  return (
    <WithFault name={name}>
      {(fault) =>
        rows === undefined ? (
          <>
            <input {...shared} {...fault} {...inputOf(type, offers && id)} />
            {offers && <Offers id={id} offers={offers} />}
          </>
        ) : (
          <textarea {...shared} {...fault} rows={rows} />
        )
      }
    </WithFault>
  )
}

/** The type of an input is a union that takes no variable. `list`: the id of what it offers. */
function inputOf(type: string, list: string | undefined): object {
  return { type, ...(list !== undefined && { list }), ...(type === 'number' && { min: 0 }) }
}

interface InlineSelectProps<Value extends string> extends InlineProps {
  readonly value: Value
  readonly options: readonly Option<Value>[]
  readonly onChange: (value: Value) => void
}

export function InlineSelect<Value extends string>({
  name,
  label,
  value,
  options,
  onChange,
}: InlineSelectProps<Value>) {
  return (
    <WithFault name={name}>
      {(fault) => (
        <select
          {...fault}
          class="input"
          aria-label={label}
          value={value}
          onChange={({ currentTarget }) => onChange(currentTarget.value as Value)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </WithFault>
  )
}

/** Options of a table of words, in its order. */
export function optionsOf<Value extends string>(words: { readonly [value in Value]: string }): Option<Value>[] {
  return (Object.entries(words) as [Value, string][]).map(([value, label]) => ({ value, label }))
}

interface FaultProps {
  readonly 'aria-invalid': 'true' | undefined
  readonly 'aria-describedby': string | undefined
}

function WithFault({
  name,
  children,
}: {
  readonly name: string
  readonly children: (fault: FaultProps) => ComponentChildren
}) {
  const id = useId()
  const fault = useFault(name)
  return (
    <span class="inline-field">
      {children({ 'aria-invalid': fault === undefined ? undefined : 'true', 'aria-describedby': fault && id })}
      {fault !== undefined && (
        <span class="fault" id={id}>
          <Icon name="circle-alert" />
          {fault}
        </span>
      )}
    </span>
  )
}
