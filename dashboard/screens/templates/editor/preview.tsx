// What the template that is being written becomes for a person, without saving it.
import { useEffect, useRef, useState } from 'preact/hooks'
import { Card } from '../../../components/content/card.tsx'
import { MailFrame } from '../../../components/content/mail-frame.tsx'
import { Failure } from '../../../components/content/shown.tsx'
import { LookupField, type Suggestion } from '../../../components/controls/lookup-field.tsx'
import { useAddress } from '../../../data/address.ts'
import type { Client } from '../../../data/client.ts'
import type { AnswerOf } from '../../../data/contracts.ts'
import { useData } from '../../../data/queries.ts'
import { useWorkspace } from '../../../data/session.ts'
import { previewText, templateText } from '../../../texts/templates.ts'
import type { TemplateFields } from './template-fields.ts'

export type TemplatePreview = AnswerOf<'POST', '/v1.0/custom-templates/email/preview'>
export type PreviewFaultBody = TemplatePreview['faults'][number]

/** After the last letter that was typed. */
const TYPED_MS = 300

export interface PreviewState {
  readonly preview: TemplatePreview | undefined
  readonly error: Error | undefined
}

/** Asks again a moment after something has changed; shows what was there until then. */
export function usePreview(fields: TemplateFields): PreviewState {
  const { client } = useData()
  const person = useAddress().get('person')
  const [state, setState] = useState<PreviewState>({ preview: undefined, error: undefined })
  const { email_content, subject, sender_name } = fields
  useEffect(() => {
    const asking = new AbortController()
    const ask = async () => {
      const body = {
        basic_details: { email_content, subject, sender_name },
        ...(person !== undefined && { customer_id: person }),
      }
      try {
        const preview = await client.post('/v1.0/custom-templates/email/preview', { body, signal: asking.signal })
        setState({ preview, error: undefined })
      } catch (error) {
        if (!asking.signal.aborted) setState(({ preview }) => ({ preview, error: error as Error }))
      }
    }
    const timer = setTimeout(() => void ask(), TYPED_MS)
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
  }, [client, person, email_content, subject, sender_name])
  return state
}

interface MailPreviewProps extends PreviewState {
  /** Whether there is nothing to show yet. */
  readonly isEmpty: boolean
}

export function MailPreview({ preview, error, isEmpty }: MailPreviewProps) {
  const address = useAddress()
  const { client } = useData()
  const { may } = useWorkspace()
  return (
    <Card title={previewText.title} lead={previewText.lead}>
      {may('users.read') && (
        <LookupField
          name="person"
          label={previewText.person}
          hint={previewText.personHint}
          placeholder={previewText.personPlaceholder}
          value={address.get('person') ?? ''}
          onChange={(text) => void toPerson(client, text).then((person) => address.set({ person }))}
          find={findPeople}
        />
      )}
      {error && <Failure error={error} />}
      {isEmpty && <p class="quiet-text">{previewText.nothingYet}</p>}
      {preview && !isEmpty && <Rendered preview={preview} />}
    </Card>
  )
}

function Rendered({ preview: { subject, sender_name: sender, html } }: { readonly preview: TemplatePreview }) {
  // Half a tag is a fault too: what was there before stays while somebody types.
  const last = useRef(html)
  last.current = html ?? last.current
  return (
    <>
      <dl class="facts">
        {sender !== null && sender !== '' && (
          <>
            <dt>{previewText.from}</dt>
            <dd>{sender}</dd>
          </>
        )}
        <dt>{previewText.subject}</dt>
        <dd>{subject === null || subject === '' ? templateText.none : subject}</dd>
      </dl>
      {html === null && (
        <p class="quiet-text">{last.current === null ? previewText.notRendered : previewText.renderedBefore}</p>
      )}
      {last.current !== null && <MailFrame html={last.current} title={previewText.frame} />}
    </>
  )
}

/** For people who may not render it: nothing is filled in. */
export function WrittenCard({ html }: { readonly html: string }) {
  return (
    <Card title={previewText.title} lead={previewText.asWritten}>
      <MailFrame html={html} title={previewText.frame} />
    </Card>
  )
}

/** The id of the person with this email address; any other text is taken as an id. */
async function toPerson(client: Client, text: string): Promise<string> {
  if (!text.includes('@')) return text
  try {
    const found = await findPeople(client, text, new AbortController().signal)
    const isNamed = ({ name }: Suggestion) => name.toLowerCase() === text.toLowerCase()
    return (found.find(({ id }) => id === text) ?? found.find(isNamed))?.id ?? text
  } catch {
    // The preview names what is wrong with the server.
    return text
  }
}

async function findPeople(client: Client, search: string, signal: AbortSignal): Promise<readonly Suggestion[]> {
  const query = { search, limit: 10 }
  const { data } = await client.get('/v1/customer/:Workspace_ID/users', { query, signal })
  return data.flatMap(({ customer_id: id, attributes }) => {
    const { email } = attributes
    return id === null ? [] : [{ id, name: typeof email === 'string' ? email : id }]
  })
}
