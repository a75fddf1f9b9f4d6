// Edits a condition: groups of conditions, each a sentence. Segments and audiences of campaigns use it.
import { useEffect, useRef, useState } from 'preact/hooks'
import { DEPTH_MAX, LEAVES_MAX } from '../../../../src/core/segments/condition-faults.ts'
import { Button } from '../../../components/controls/button.tsx'
import { Switch } from '../../../components/controls/field.tsx'
import { conditionText } from '../../../texts/segments.ts'
import {
  countLeaves,
  NO_CONDITIONS,
  pathOfPart,
  type GroupForm,
  type GroupJoin,
  type PartForm,
} from './condition-form.ts'
import { InlineSelect, optionsOf } from './inline-controls.tsx'
import { LeafControls } from './leaf-editor.tsx'
import { NEW_LEAVES, toLeaf, type LeafForm, type LeafFormKind } from './leaf-form.ts'
import { leafSentence } from './sentence.ts'
import type { SegmentLeaf } from '../../../../src/core/segments/condition.ts'

interface ConditionEditorProps {
  readonly form: GroupForm
  /** The path of the condition in the body, as faults name it. */
  readonly name: string
  readonly onChange: (form: GroupForm) => void
}

const JOINS = conditionText.joins as { value: GroupJoin; label: string }[]

export function ConditionEditor({ form, name, onChange }: ConditionEditorProps) {
  return <Group form={form} path={name} depth={1} room={LEAVES_MAX - countLeaves(form)} onChange={onChange} />
}

interface GroupProps {
  readonly form: GroupForm
  readonly path: string
  readonly depth: number
  /** How many conditions may be added. */
  readonly room: number
  readonly onChange: (form: GroupForm) => void
  /** Absent at the root. */
  readonly onRemove?: () => void
}

/** `none` over several takes two levels. */
function Group({ form, path, depth, room, onChange, onRemove }: GroupProps) {
  const { join, parts } = form
  const [added, setAdded] = useState<number | undefined>(undefined)
  const adder = useRef<HTMLDivElement>(null)
  const setPart = (index: number, part: PartForm) => onChange({ ...form, parts: parts.with(index, part) })
  const remove = (index: number) => {
    onChange({ ...form, parts: parts.toSpliced(index, 1) })
    adder.current?.querySelector('button')?.focus()
  }
  const add = (part: PartForm) => {
    setAdded(parts.length)
    onChange({ ...form, parts: [...parts, part] })
  }
  const own = join === 'none' && parts.length > 1 ? 2 : 1
  return (
    <div class="conditions" role="group" aria-label={conditionText.group}>
      <div class="row conditions-head">
        <span>{conditionText.who}</span>
        <Switch
          label={conditionText.join}
          value={join}
          options={JOINS}
          onChange={(next) => onChange({ ...form, join: next })}
        />
        <span>{conditionText.ofThese}</span>
        {onRemove && <Button kind="quiet" icon="x" label={conditionText.removeGroup} onClick={onRemove} />}
      </div>
      {parts.length === 0 && <Beginnings add={add} />}
      {parts.map((part, index) => (
        <div class="condition-part" key={index}>
          {index > 0 && <p class="condition-between">{conditionText.between[join]}</p>}
          {part.kind === 'group' ? (
            <Group
              form={part}
              path={pathOfPart(form, path, index)}
              depth={depth + own}
              room={room}
              onChange={(next) => setPart(index, next)}
              onRemove={() => remove(index)}
            />
          ) : (
            <LeafRow
              form={part}
              path={pathOfPart(form, path, index)}
              isAdded={added === index}
              onChange={(next) => setPart(index, next)}
              onRemove={() => remove(index)}
            />
          )}
        </div>
      ))}
      <div class="row" ref={adder}>
        <Button icon="plus" isDisabled={room <= 0} onClick={() => add(NEW_LEAVES.attribute)}>
          {conditionText.add}
        </Button>
        {depth + own <= DEPTH_MAX && (
          <Button
            kind="quiet"
            isDisabled={room <= 0}
            onClick={() =>
              add({ ...NO_CONDITIONS, join: join === 'any' ? 'all' : 'any', parts: [NEW_LEAVES.attribute] })
            }
          >
            {conditionText.addGroup}
          </Button>
        )}
      </div>
    </div>
  )
}

/** What most segments begin with, for a group without conditions. */
function Beginnings({ add }: { readonly add: (leaf: LeafForm) => void }) {
  return (
    <div class="stack">
      <p class="note">{conditionText.none}</p>
      <div class="row">
        {BEGINNINGS.map(([label, leaf]) => (
          <Button key={label} onClick={() => add(leaf)}>
            {label}
          </Button>
        ))}
      </div>
    </div>
  )
}

const BEGINNINGS: readonly (readonly [label: string, leaf: LeafForm])[] = [
  [conditionText.beginnings.email, { ...NEW_LEAVES.attribute, attribute: 'email', operator: 'exists' }],
  [conditionText.beginnings.event, NEW_LEAVES.event],
  [conditionText.beginnings.campaign, NEW_LEAVES.campaign],
  [conditionText.beginnings.created, NEW_LEAVES.created],
]

interface LeafRowProps {
  readonly form: LeafForm
  readonly path: string
  /** Whether somebody added it just now: it takes the focus. */
  readonly isAdded: boolean
  readonly onChange: (form: LeafForm) => void
  readonly onRemove: () => void
}

function LeafRow({ form, path, isAdded, onChange, onRemove }: LeafRowProps) {
  const row = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isAdded) row.current?.querySelector('select')?.focus()
  }, [isAdded])
  const sentence = leafSentence(toLeaf(form) as SegmentLeaf, NO_NAMES)
  const setKind = (kind: LeafFormKind) => onChange(NEW_LEAVES[kind])
  return (
    <div class="condition" ref={row} role="group" aria-label={sentence}>
      <div class="condition-words">
        <InlineSelect
          name={path}
          label={conditionText.kind}
          value={form.kind}
          options={optionsOf(conditionText.kinds)}
          onChange={setKind}
        />
        <LeafControls form={form} path={path} onChange={onChange} />
      </div>
      <Button kind="quiet" icon="x" label={conditionText.remove(sentence)} onClick={onRemove} />
    </div>
  )
}

const NO_NAMES: ReadonlyMap<string, string> = new Map()
