// Searches a list by a part of a text, which stands in the address a moment after somebody typed it. Begins again with the first page.
import { useEffect, useRef, useState } from 'preact/hooks'
import { useAddress } from '../../data/address.ts'
import { TextField } from './field.tsx'

const TYPED_MS = 250

interface SearchFieldProps {
  readonly label: string
  readonly placeholder?: string
  /** Its name in the address. */
  readonly name?: string
  /** The name of the cursor, which a new search takes away. */
  readonly cursor?: string
}

export function SearchField({ label, placeholder, name = 'search', cursor = 'before' }: SearchFieldProps) {
  const address = useAddress()
  const wanted = address.get(name) ?? ''
  const [typed, setTyped] = useState(wanted)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const set = useRef(address.set)
  set.current = address.set
  // Going back, or a link that removes the filter, changes it from outside.
  useEffect(() => {
    if (timer.current === undefined) setTyped(wanted)
  }, [wanted])
  useEffect(() => () => clearTimeout(timer.current), [])
  const onInput = (value: string) => {
    setTyped(value)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      timer.current = undefined
      set.current({ [name]: value.trim(), [cursor]: undefined })
    }, TYPED_MS)
  }
  return (
    <div class="search">
      <TextField
        name={name}
        label={label}
        type="search"
        placeholder={placeholder ?? ''}
        value={typed}
        onInput={onInput}
      />
    </div>
  )
}
