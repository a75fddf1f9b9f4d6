// What tests of campaigns do again and again: make campaigns, read and change them.
import { expect } from 'vitest'
import type { CampaignBody } from '../../../src/operations/campaigns/campaign-body.ts'
import type { Answer, CallOptions, TestServer, TestWorkspace } from '../server.ts'

export const CAMPAIGNS_PATH = '/core-services/v1/campaigns'

export interface CampaignPage {
  readonly data: readonly CampaignBody[]
  readonly next_before: string | null
}

export interface CampaignCalls {
  /** Any operation of campaigns, with the key of the tile `reports`. */
  call<Body = unknown>(method: string, path: string, options?: CallOptions): Promise<Answer<Body>>
  /** POST; makes up what is not given. */
  create(
    fields?: Readonly<Record<string, unknown>>,
    as?: TestWorkspace,
  ): Promise<Answer<{ readonly campaign_id: string }>>
  /** The same, which must succeed; returns the id. */
  make(fields?: Readonly<Record<string, unknown>>, as?: TestWorkspace): Promise<string>
  /** GET, which must succeed. */
  fetch(id: string, as?: TestWorkspace): Promise<CampaignBody>
  patch(id: string, body: unknown, as?: TestWorkspace): Promise<Answer<CampaignBody>>
  archive(id: string, as?: TestWorkspace): Promise<Answer<unknown>>
  restore(id: string, as?: TestWorkspace): Promise<Answer<unknown>>
  delete(id: string, as?: TestWorkspace): Promise<Answer<unknown>>
  /** One page. */
  list(query?: string, as?: TestWorkspace): Promise<Answer<CampaignPage>>
}

export function campaignCallsOf(server: TestServer): CampaignCalls {
  let made = 0
  const call: CampaignCalls['call'] = (method, path, options = {}) => {
    return server.call(method, path, { tile: 'reports', ...options })
  }
  const create: CampaignCalls['create'] = (fields = {}, as = server.workspace) => {
    const name = `Campaign ${++made}`
    const body = { name, platforms: ['EMAIL'], conversion_goals: [], created_by: 'anna', ...fields }
    return call('POST', CAMPAIGNS_PATH, { as, body })
  }
  return {
    call,
    create,
    async make(fields, as) {
      const answer = await create(fields, as)
      expect(answer.status).toBe(201)
      return answer.body.campaign_id
    },
    async fetch(id, as = server.workspace) {
      const answer = await call<CampaignBody>('GET', `${CAMPAIGNS_PATH}/${id}`, { as })
      expect(answer.status).toBe(200)
      return answer.body
    },
    patch: (id, body, as = server.workspace) => call('PATCH', `${CAMPAIGNS_PATH}/${id}`, { as, body }),
    archive: (id, as = server.workspace) => call('PUT', `${CAMPAIGNS_PATH}/${id}/archive`, { as }),
    restore: (id, as = server.workspace) => call('PUT', `${CAMPAIGNS_PATH}/${id}/restore`, { as }),
    delete: (id, as = server.workspace) => call('DELETE', `${CAMPAIGNS_PATH}/${id}`, { as }),
    list: (query = '', as = server.workspace) => call('GET', CAMPAIGNS_PATH + query, { as }),
  }
}
