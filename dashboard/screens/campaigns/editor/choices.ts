// What a campaign can name: segments, templates, and people to preview it for.
import type { Choices } from '../../../components/controls/choose-field.tsx'
import { ApiError } from '../../../data/api-error.ts'
import type { AnswerOf } from '../../../data/contracts.ts'
import { campaignEditorText } from '../../../texts/campaigns/editor.ts'

const OFFERED = 20

export const SEGMENT_CHOICES: Choices = {
  key: 'segments',
  async find(client, search, signal) {
    const query = { limit: OFFERED, ...(search !== '' && { search }) }
    const { data } = await client.get('/core-services/v1/segments', { query, signal })
    return data.map(({ segment_id: id, name: title }) => ({ id, title }))
  },
  async get(client, segment_id, signal) {
    const found = await orNone(client.get('/core-services/v1/segments/:segment_id', { path: { segment_id }, signal }))
    return found && { id: segment_id, title: found.name }
  },
}

type Template = AnswerOf<'GET', '/v1.0/custom-templates/email'>['data'][number]

/** Of a group, only its default: people get the language that is theirs. */
export const TEMPLATE_CHOICES: Choices = {
  key: 'templates',
  async find(client, search, signal) {
    const query = { limit: OFFERED * 5, ...(search !== '' && { search }) }
    const { data } = await client.get('/v1.0/custom-templates/email', { query, signal })
    return data.filter(({ is_default_template_of_group: isDefault }) => isDefault !== false).map(toTemplateChoice)
  },
  async get(client, external_template_id, signal) {
    const path = { external_template_id }
    const found = await orNone(client.get('/v1.0/custom-templates/email/:external_template_id', { path, signal }))
    return found && toTemplateChoice(found)
  },
}

function toTemplateChoice(
  template: Pick<Template, 'external_template_id' | 'is_default_template_of_group'> & TemplateWords,
) {
  const { external_template_id: id, meta_info: meta, basic_details: details } = template
  const isGroup = template.is_default_template_of_group === true
  return {
    id,
    title: meta.template_name,
    note: `${details.subject}${isGroup ? ` · ${campaignEditorText.inLanguages}` : ''}`,
  }
}

interface TemplateWords {
  readonly meta_info: { readonly template_name: string }
  readonly basic_details: { readonly subject: string }
}

type User = AnswerOf<'GET', '/v1/customer/:Workspace_ID/users'>['data'][number]

export const PERSON_CHOICES: Choices = {
  key: 'people',
  async find(client, search, signal) {
    const query = { limit: OFFERED, ...(search !== '' && { search }) }
    const { data } = await client.get('/v1/customer/:Workspace_ID/users', { query, signal })
    return data.flatMap(toPersonChoice)
  },
  get: async (_client, id) => ({ id, title: id }),
}

/** Only people with a customer id can be sent to. */
function toPersonChoice({ customer_id: id, attributes }: User) {
  if (id === null) return []
  const words = [attributes['first_name'], attributes['last_name'], attributes['email']]
  return [{ id, title: id, note: words.filter((word) => typeof word === 'string').join(' ') || undefined }]
}

async function orNone<Answer>(asked: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return undefined
    throw error
  }
}
