// One event as JSON, every digit as it was sent.
import { CodeBlock } from '../../components/content/copy.tsx'
import { Dialog } from '../../components/controls/dialog.tsx'
import { writeJson, writeShort } from '../../data/exact.ts'
import { eventsText } from '../../texts/people/events.ts'

interface EventDetailsProps {
  readonly event: { readonly action: string }
  readonly onClose: () => void
}

export function EventDetails({ event, onClose }: EventDetailsProps) {
  return (
    <Dialog title={event.action} isWide onClose={onClose}>
      <CodeBlock text={writeJson(event)} what={eventsText.json} />
    </Dialog>
  )
}

/** The first attributes in one line, to recognise an event by. */
export function attributesLine(attributes: Readonly<Record<string, unknown>>): string {
  const first = Object.entries(attributes).slice(0, ATTRIBUTES_SHOWN)
  return first.map(([name, value]) => `${name}: ${writeShort(value).slice(0, VALUE_SHOWN)}`).join(' · ')
}

const ATTRIBUTES_SHOWN = 5
const VALUE_SHOWN = 80
