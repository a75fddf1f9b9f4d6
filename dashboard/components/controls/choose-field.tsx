// Chooses one of many things of the workspace: the newest are in sight, and a search finds the others. What is chosen shows its name and
// can be changed.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { Client } from '../../data/client.ts'
import { useQuery } from '../../data/queries.ts'
import { useRested } from '../../data/rested.ts'
import { chooseText } from '../../texts/form.ts'
import { Icon } from '../content/icon.tsx'
import { Shown } from '../content/shown.tsx'
import { Button } from './button.tsx'
import { useFault } from './form.tsx'

export interface Choice {
  readonly id: string
  readonly title: string
  readonly note?: string | undefined
}

/** What can be chosen, as a screen declares it once. */
export interface Choices {
  /** Tells it from all others. */
  readonly key: string
  /** The newest, or those that a text finds. */
  readonly find: (client: Client, text: string, signal: AbortSignal) => Promise<readonly Choice[]>
  /** What is chosen. Undefined if it does not exist any more. */
  readonly get: (client: Client, id: string, signal: AbortSignal) => Promise<Choice | undefined>
}

interface ChooseFieldProps {
  readonly name: string
  readonly label: string
  readonly hint?: ComponentChildren
  readonly choices: Choices
  /** Ids that are not offered. */
  readonly without?: readonly string[]
  /** An id; '' for none. */
  readonly value: string
  readonly onChange: (id: string) => void
  /** What stands where there is nothing to choose. */
  readonly empty?: ComponentChildren
  /** Beside what is chosen, such as a link to it. */
  readonly beside?: ComponentChildren
}

export function ChooseField({
  name,
  label,
  hint,
  choices,
  without = [],
  value,
  onChange,
  empty,
  beside,
}: ChooseFieldProps) {
  const id = useId()
  const fault = useFault(name)
  const [isOpen, setOpen] = useState(false)
  const place = useRef<HTMLDivElement>(null)
  const choose = (chosen: string) => {
    onChange(chosen)
    setOpen(false)
    requestAnimationFrame(() => place.current?.querySelector('button')?.focus())
  }
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ') || undefined
  return (
    <div class="field" ref={place} role="group" aria-labelledby={`${id}-label`} aria-describedby={described}>
      <span class="label" id={`${id}-label`}>
        {label}
      </span>
      {value !== '' && (
        <div class="chosen">
          <ChoiceName choices={choices} id={value} />
          {beside}
          <Button
            kind="quiet"
            onClick={() => setOpen(!isOpen)}
            label={isOpen ? chooseText.keepOf(label) : chooseText.changeOf(label)}
          >
            {isOpen ? chooseText.keep : chooseText.change}
          </Button>
        </div>
      )}
      {(value === '' || isOpen) && (
        <ChoiceList
          label={label}
          choices={choices}
          without={without}
          isOpened={isOpen}
          empty={empty}
          onChoose={choose}
        />
      )}
      {fault && (
        <p class="fault" id={`${id}-fault`} tabIndex={-1}>
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

/** The name of what is chosen. */
export function ChoiceName({ choices, id }: { readonly choices: Choices; readonly id: string }) {
  const chosen = useQuery({
    key: ['choice', choices.key, id],
    ask: async (client, signal) => (await choices.get(client, id, signal)) ?? null,
    topics: ['audit'],
    isEmpty: () => false,
  })
  if (chosen.state === 'loading') return <span class="chosen-name quiet-text">…</span>
  const choice = chosen.state === 'failed' ? null : chosen.answer
  return (
    <span class="chosen-name">
      <strong>{choice?.title ?? chooseText.gone(id)}</strong>
      {choice?.note !== undefined && <span class="note">{choice.note}</span>}
    </span>
  )
}

interface ChoiceListProps {
  readonly label: string
  readonly choices: Choices
  readonly without: readonly string[]
  /** Whether somebody opened it just now: it takes the focus. */
  readonly isOpened?: boolean
  readonly empty?: ComponentChildren
  readonly onChoose: (id: string) => void
}

export function ChoiceList({ label, choices, without, isOpened = false, empty, onChoose }: ChoiceListProps) {
  const [typed, setTyped] = useState('')
  const text = useRested(typed.trim())
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (isOpened) input.current?.focus()
  }, [isOpened])
  const found = useQuery({
    key: ['choices', choices.key, text],
    ask: (client, signal) => choices.find(client, text, signal),
    topics: ['audit'],
    isEmpty: () => false,
  })
  return (
    <div class="choices">
      <input
        ref={input}
        class="input"
        type="search"
        aria-label={chooseText.search(label)}
        placeholder={chooseText.placeholder}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
      />
      <Shown of={found} lines={3}>
        {(all) => {
          const offered = all.filter(({ id }) => !without.includes(id))
          if (offered.length === 0) {
            return (
              <div class="choices-none">
                {text === '' && all.length === 0 ? (empty ?? chooseText.none) : chooseText.noMatch}
              </div>
            )
          }
          return (
            <ul>
              {offered.map(({ id, title, note }) => (
                <li key={id}>
                  <button type="button" class="menu-item" onClick={() => onChoose(id)}>
                    <span class="chosen-name">
                      <span>{title}</span>
                      {note !== undefined && <span class="note">{note}</span>}
                    </span>
                  </button>
                </li>
              ))}
            </ul>
          )
        }}
      </Shown>
    </div>
  )
}
