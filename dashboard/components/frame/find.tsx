// Find: one field for pages, campaigns, templates, segments, coupon lists, people and request ids, by the keyboard alone.
import { useEffect, useId, useState } from 'preact/hooks'
import { useRested } from '../../data/rested.ts'
import { findText } from '../../texts/frame.ts'
import { formatCount } from '../../texts/format.ts'
import { Dialog } from '../controls/dialog.tsx'
import { useFound, type FoundEntry, type FoundGroup } from './found.ts'

/** How long nothing must be typed before the server is asked. */
const TYPING_MS = 120

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }

export default function Find({ onClose }: { readonly onClose: () => void }) {
  const id = useId()
  const [typed, setTyped] = useState('')
  const text = useRested(typed.trim(), TYPING_MS)
  const { groups, isSearching } = useFound(typed.trim(), text)
  const [wanted, setWanted] = useState(0)
  const count = groups.reduce((sum, { entries }) => sum + entries.length, 0)
  const chosen = Math.min(wanted, count - 1)
  const idOf = (index: number) => `${id}-${index}`
  const onInput = (value: string) => {
    setTyped(value)
    setWanted(0)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key]
    if (event.isComposing || (step === undefined && event.key !== 'Enter')) return
    event.preventDefault()
    if (step === undefined) document.getElementById(idOf(chosen))?.click()
    else if (count > 0) setWanted((chosen + step + count) % count)
  }
  useEffect(() => document.getElementById(idOf(chosen))?.scrollIntoView({ block: 'nearest' }))
  return (
    <Dialog title={findText.title} onClose={onClose}>
      <div class="stack">
        <input
          class="input"
          type="text"
          role="combobox"
          aria-label={findText.label}
          aria-autocomplete="list"
          aria-expanded={count > 0}
          aria-controls={count > 0 ? id : undefined}
          aria-activedescendant={count > 0 ? idOf(chosen) : undefined}
          placeholder={findText.placeholder}
          autoFocus
          autoComplete="off"
          spellcheck={false}
          value={typed}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <Status typed={typed.trim()} count={count} isSearching={isSearching} />
        <div class="find-results">
          {count > 0 && <Results id={id} groups={groups} chosen={chosen} idOf={idOf} onClick={onClose} />}
          <Faults groups={groups} />
        </div>
      </div>
    </Dialog>
  )
}

function Status({ typed, count, isSearching }: { typed: string; count: number; isSearching: boolean }) {
  const words = isSearching
    ? findText.searching
    : count === 0
      ? findText.nothing(typed)
      : findText.found(formatCount(count))
  return (
    <p class="note" role="status">
      {words}
    </p>
  )
}

interface ResultsProps {
  readonly id: string
  readonly groups: readonly FoundGroup[]
  readonly chosen: number
  readonly idOf: (index: number) => string
  readonly onClick: () => void
}

function Results({ id, groups, chosen, idOf, onClick }: ResultsProps) {
  let index = 0
  return (
    <div id={id} role="listbox" aria-label={findText.results}>
      {groups
        .filter(({ entries }) => entries.length > 0)
        .map(({ title, entries }) => (
          <div key={title} role="group" aria-label={title} class="find-group">
            <p class="nav-title" aria-hidden="true">
              {title}
            </p>
            {entries.map((entry) => {
              const at = index++
              return <Option key={entry.href} id={idOf(at)} entry={entry} isChosen={at === chosen} onClick={onClick} />
            })}
          </div>
        ))}
    </div>
  )
}

interface OptionProps {
  readonly id: string
  readonly entry: FoundEntry
  readonly isChosen: boolean
  readonly onClick: () => void
}

function Option({ id, entry: { href, title, note }, isChosen, onClick }: OptionProps) {
  return (
    <a id={id} role="option" aria-selected={isChosen} class="find-option" href={href} tabIndex={-1} onClick={onClick}>
      <span class="find-title">{title}</span>
      {note !== undefined && note !== '' && <span class="note find-note">{note}</span>}
    </a>
  )
}

function Faults({ groups }: { readonly groups: readonly FoundGroup[] }) {
  return (
    <>
      {groups.map(({ title, error }) =>
        error === undefined ? null : (
          <p key={title} class="fault">
            {findText.failed(title, error)}
          </p>
        ),
      )}
    </>
  )
}
