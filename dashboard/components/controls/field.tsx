// Fields of forms: a label, the control, a hint, and the fault that the server names.
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { formText } from '../../texts/form.ts'
import { Icon } from '../content/icon.tsx'
import { useFault } from './form.tsx'

interface FieldProps {
  /** Its path in the body, as faults name it. */
  readonly name: string
  readonly label: string
  readonly hint?: ComponentChildren
  readonly isOptional?: boolean
}

interface ControlProps {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': 'true' | undefined
}

/** Around a control of any kind. */
export function Field({
  name,
  label,
  hint,
  isOptional = false,
  children,
}: FieldProps & { readonly children: (control: ControlProps) => ComponentChildren }) {
  const id = useId()
  const fault = useFault(name)
  const describedBy = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label htmlFor={id}>
        {label}
        {isOptional && <span class="note"> ({formText.optional})</span>}
      </label>
      {children({ id, 'aria-describedby': describedBy || undefined, 'aria-invalid': fault ? 'true' : undefined })}
      {fault && (
        <p class="fault" id={`${id}-fault`}>
          <Icon name="circle-alert" />
          <span>
            {label} {fault}
          </span>
        </p>
      )}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

interface TextFieldProps extends FieldProps {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly type?: 'text' | 'email' | 'password' | 'search' | 'date' | 'datetime-local' | 'number' | 'url'
  readonly autoComplete?: string
  readonly placeholder?: string
  readonly inputMode?: 'numeric' | 'text'
  readonly isCode?: boolean
  /** More than one line. */
  readonly rows?: number
  readonly isDisabled?: boolean
  readonly takesFocus?: boolean
  /** What it suggests while one types. */
  readonly offers?: readonly string[]
}

export function TextField({
  value,
  onInput,
  type = 'text',
  autoComplete = 'off',
  placeholder,
  inputMode,
  isCode = false,
  rows,
  isDisabled = false,
  takesFocus = false,
  offers,
  ...field
}: TextFieldProps) {
  const list = useId()
  const look = { class: isCode ? 'input code' : 'input', value, placeholder, disabled: isDisabled, autoComplete }
  return (
    <Field {...field}>
      {(control) =>
        rows === undefined ? (
          <>
            <input
              {...control}
              {...look}
              name={field.name}
              {...typeOf(type, offers && list)}
              inputMode={inputMode}
              autoFocus={takesFocus}
              spellcheck={!isCode && type === 'text'}
              onInput={({ currentTarget }) => onInput(currentTarget.value)}
            />
            {offers && <Offers id={list} offers={offers} />}
          </>
        ) : (
          <textarea
            {...control}
            {...look}
            name={field.name}
            rows={rows}
            spellcheck={!isCode}
            onInput={({ currentTarget }) => onInput(currentTarget.value)}
          />
        )
      }
    </Field>
  )
}

/** Suggestions of a text field. */
export function Offers({ id, offers }: { readonly id: string; readonly offers: readonly string[] }) {
  return (
    <datalist id={id}>
      {offers.map((offer) => (
        <option key={offer} value={offer}>
          {offer}
        </option>
      ))}
    </datalist>
  )
}

/** The type of an input is a union that takes no variable. `list`: the id of what it suggests. */
function typeOf(type: string, list: string | undefined): object {
  return { type, ...(list !== undefined && { list }) }
}

export interface Option<Value extends string> {
  readonly value: Value
  readonly label: string
}

interface SelectFieldProps<Value extends string> extends FieldProps {
  readonly value: Value
  readonly options: readonly Option<Value>[]
  readonly onChange: (value: Value) => void
  readonly isDisabled?: boolean
}

export function SelectField<Value extends string>({
  value,
  options,
  onChange,
  isDisabled = false,
  ...field
}: SelectFieldProps<Value>) {
  return (
    <Field {...field}>
      {(control) => (
        <select
          {...control}
          class="input"
          name={field.name}
          value={value}
          disabled={isDisabled}
          onChange={({ currentTarget }) => onChange(currentTarget.value as Value)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

interface CheckFieldProps {
  readonly name: string
  readonly label: ComponentChildren
  readonly hint?: string
  readonly isChecked: boolean
  readonly onChange: (isChecked: boolean) => void
  readonly isDisabled?: boolean
}

export function CheckField({ name, label, hint, isChecked, onChange, isDisabled = false }: CheckFieldProps) {
  const id = useId()
  const fault = useFault(name)
  return (
    <div class="field">
      <div class="choice">
        <input
          id={id}
          type="checkbox"
          name={name}
          checked={isChecked}
          disabled={isDisabled}
          aria-describedby={hint || fault ? `${id}-hint` : undefined}
          aria-invalid={fault ? 'true' : undefined}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
        <label htmlFor={id}>{label}</label>
      </div>
      {(hint || fault) && (
        <p class={fault ? 'fault' : 'hint'} id={`${id}-hint`}>
          {fault ?? hint}
        </p>
      )}
    </div>
  )
}

interface SwitchProps<Value extends string> {
  /** For readers of the screen, and the group of its radio buttons. */
  readonly label: string
  readonly value: Value
  readonly options: readonly Option<Value>[]
  readonly onChange: (value: Value) => void
}

/** One of few values, all in sight. */
export function Switch<Value extends string>({ label, value, options, onChange }: SwitchProps<Value>) {
  const name = useId()
  return (
    <div class="switch" role="radiogroup" aria-label={label}>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          {option.label}
        </label>
      ))}
    </div>
  )
}
