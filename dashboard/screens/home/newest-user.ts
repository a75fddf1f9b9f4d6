// The user that came last, to tell a workspace where nothing has arrived yet from others.
import type { AnswerOf } from '../../data/contracts.ts'
import { useQuery, type ShownQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'

/** Empty while there is none. Asks nothing for people who may not read users. */
export function useNewestUser(): ShownQuery<AnswerOf<'GET', '/v1/customer/:Workspace_ID/users'>> {
  const { may } = useWorkspace()
  return useQuery({
    key: ['newest user'],
    ask: (client, signal) => client.get('/v1/customer/:Workspace_ID/users', { query: { limit: 1 }, signal }),
    topics: ['events'],
    isWanted: may('users.read'),
  })
}
