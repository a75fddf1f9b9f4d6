// Finds the templates that are a group, or could become one, by a part of their name.
import type { Suggestion } from '../../components/controls/lookup-field.tsx'
import type { Client } from '../../data/client.ts'

/** Templates that are in no group, or the default of one. */
export async function findGroups(client: Client, search: string, signal: AbortSignal): Promise<readonly Suggestion[]> {
  const query = { search, limit: 20 }
  const { data } = await client.get('/v1.0/custom-templates/email', { query, signal })
  return data
    .filter(
      ({ meta_info: { group_id: group }, is_default_template_of_group: isDefault }) => isDefault || group === undefined,
    )
    .map(({ external_template_id: id, meta_info: { template_name: name } }) => ({ id, name }))
}
