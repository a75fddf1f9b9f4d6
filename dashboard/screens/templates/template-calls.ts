// The calls of the pages of one template.
import { useData } from '../../data/queries.ts'
import { useRepeatKey } from '../../data/forms/repeat-keys.ts'
import { useSession } from '../../data/session.ts'
import type { TemplateAnswer, UpdateParts } from './editor/template-fields.ts'

export function useTemplateCalls(id: string) {
  const { client, queries } = useData()
  const { person } = useSession()
  const keyOf = useRepeatKey()
  const read = async (version?: number): Promise<TemplateAnswer> => {
    const query = version === undefined ? {} : { version }
    const path = { external_template_id: id }
    const found = await client.get('/v1.0/custom-templates/email/:external_template_id', { path, query })
    if (version === undefined) queries.setQueryData([client.workspace, 'template', id], found)
    return found
  }
  /** Returns the number of the version that it made, once the page shows that. */
  const write = async (change: UpdateParts & { readonly if_version: number }) => {
    const body = { external_template_id: id, updated_by: person.email, ...change }
    const { version } = await client.put('/v1.0/custom-templates/email', { body, idempotencyKey: keyOf(body) })
    await read()
    return version
  }
  return { read, write }
}
