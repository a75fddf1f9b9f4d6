// A field for the id of something, with suggestions while one types.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { useData } from '../../data/queries.ts'
import type { Client } from '../../data/client.ts'
import { Field } from './field.tsx'

const TYPED_MS = 250

export interface Suggestion {
  readonly id: string
  /** What people know it by. */
  readonly name: string
}

interface LookupFieldProps {
  readonly name: string
  readonly label: string
  readonly hint?: ComponentChildren
  readonly isOptional?: boolean
  readonly placeholder?: string
  readonly value: string
  /** Called when somebody has chosen or typed an id, not with each letter. */
  readonly onChange: (id: string) => void
  /** Finds by a part of the id or name. */
  readonly find: (client: Client, text: string, signal: AbortSignal) => Promise<readonly Suggestion[]>
}

export function LookupField({ value, onChange, find, placeholder, ...field }: LookupFieldProps) {
  const [typed, setTyped] = useState(value)
  useEffect(() => setTyped(value), [value])
  const suggestions = useSuggestions(typed === value ? '' : typed, find)
  const list = useId()
  const onInput = (text: string) => {
    setTyped(text)
    if (text === '' || suggestions.some(({ id }) => id === text)) onChange(text)
  }
  return (
    <Field {...field}>
      {(control) => (
        <>
          <input
            {...control}
            class="input"
            type="search"
            name={field.name}
            list={list}
            value={typed}
            placeholder={placeholder}
            autoComplete="off"
            spellcheck={false}
            onInput={({ currentTarget }) => onInput(currentTarget.value)}
            onChange={({ currentTarget }) => onChange(currentTarget.value.trim())}
          />
          <datalist id={list}>
            {suggestions.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </datalist>
        </>
      )}
    </Field>
  )
}

function useSuggestions(text: string, find: LookupFieldProps['find']): readonly Suggestion[] {
  const { client } = useData()
  const [found, setFound] = useState<readonly Suggestion[]>([])
  useEffect(() => {
    if (text === '') return
    const asking = new AbortController()
    // Suggestions help; without them one types the id.
    const ask = () => find(client, text, asking.signal).then(setFound, () => {})
    const timer = setTimeout(() => void ask(), TYPED_MS)
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
  }, [client, text, find])
  return found
}
