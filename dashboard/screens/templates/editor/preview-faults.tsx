// What would hold a message back, with its place. A place in the HTML leads to it.
import { Icon } from '../../../components/content/icon.tsx'
import { templateText } from '../../../texts/templates.ts'
import type { PreviewFaultBody } from './preview.tsx'

interface PreviewFaultsProps {
  readonly faults: readonly PreviewFaultBody[]
  readonly onChoose: (fault: PreviewFaultBody) => void
}

export function PreviewFaults({ faults, onChoose }: PreviewFaultsProps) {
  if (faults.length === 0) {
    return (
      <p class="template-faults note" role="status">
        <Icon name="circle-check" /> {templateText.noFaults}
      </p>
    )
  }
  return (
    <section class="template-faults" aria-label={templateText.faults(faults.length)}>
      <p role="status">{templateText.faults(faults.length)}</p>
      <ul>
        {faults.map((fault, index) => (
          <li key={index} class={fault.kind === 'value' ? 'warn' : 'bad'}>
            <Icon name={fault.kind === 'value' ? 'triangle-alert' : 'circle-alert'} />
            <span>
              {fault.problem} <Place fault={fault} onChoose={() => onChoose(fault)} />
            </span>
          </li>
        ))}
      </ul>
      {faults.some(({ kind }) => kind === 'value') && <p class="note">{templateText.lackingValue}</p>}
    </section>
  )
}

function Place({ fault: { field, line, column, kind }, onChoose }: PlaceProps) {
  const where = line === null || column === null ? undefined : templateText.atPlace(line, column)
  const name = FIELD_OF[field ?? '']
  if (name === undefined && where !== undefined) {
    return (
      <button type="button" class="link" onClick={onChoose}>
        {where}
      </button>
    )
  }
  return <span class="note">{[name, where, templateText.blocks[kind]].filter(Boolean).join(', ')}</span>
}

interface PlaceProps {
  readonly fault: PreviewFaultBody
  readonly onChoose: () => void
}

/** Those that are no code. */
const FIELD_OF: Readonly<Record<string, string>> = {
  'basic_details.subject': templateText.fields.subject,
  'basic_details.sender_name': templateText.fields.sender_name,
}
