// What tests of email preferences do again and again: make users, change what they consented to, and read it back.
import { expect } from 'vitest'
import { LIMIT_DEFAULTS, type WorkspaceSettings } from '../../../src/core/workspace.ts'
import type { Answer, TestServer, TestWorkspace } from '../server.ts'
import { trackingOf } from './tracking.ts'

export interface OptInBody {
  readonly opt_in_status: string
  readonly categories: Record<string, boolean>
}

export interface PreferencesBody extends OptInBody {
  readonly customer_id: string | null
  readonly updated_at: string | null
}

export interface ProofBody {
  readonly at: string
  readonly by: string
  readonly ip: string | null
  readonly before: OptInBody
  readonly after: OptInBody
}

export interface HistoryBody {
  readonly data: ProofBody[]
  readonly next_before?: string
}

/** Limits that tests which make many requests within a minute do not reach. */
export const NO_LIMITS: WorkspaceSettings['limits'] = { ...LIMIT_DEFAULTS, management_per_minute: 1_000_000 }

export const PREFERENCES_PATH = '/v1.0/opt-in-management/user-preferences'

export interface PreferenceCalls {
  /** Makes one user with each customer id, all with the same address if one is given. */
  makeUsers(customerIds: readonly string[], email?: string): Promise<void>
  /** PUT of `user_preferences`. */
  update(userPreferences: unknown): Promise<Answer<{ message: string }>>
  /** The same, which must succeed. */
  set(userPreferences: object): Promise<void>
  read(query: Readonly<Record<string, string>>): Promise<Answer<{ data: PreferencesBody[]; next_before?: string }>>
  /** The preferences of the one user whom the query finds. */
  readOne(customerId: string): Promise<PreferencesBody>
  history(query: Readonly<Record<string, string>>): Promise<Answer<HistoryBody>>
  /** All proofs of a user on one page. */
  proofsOf(customerId: string): Promise<ProofBody[]>
}

/** Calls in the name of one workspace. */
export function preferenceCalls(server: TestServer, workspace: TestWorkspace = server.workspace): PreferenceCalls {
  const get = <Body>(path: string, query: Readonly<Record<string, string>>) => {
    return server.call<Body>('GET', `${path}?${new URLSearchParams(query).toString()}`, { as: workspace })
  }
  const calls: PreferenceCalls = {
    async makeUsers(customerIds, email) {
      const attributes = email === undefined ? {} : { email }
      const bodies = customerIds.map((customer_id) => ({ type: 'customer', customer_id, attributes }))
      await trackingOf(server, workspace).apply(...bodies)
    },
    update: (user_preferences) => server.call('PUT', PREFERENCES_PATH, { as: workspace, body: { user_preferences } }),
    async set(userPreferences) {
      const { status, body } = await calls.update(userPreferences)
      expect({ status, body }).toMatchObject({ status: 200 })
    },
    read: (query) => get(PREFERENCES_PATH, query),
    async readOne(customerId) {
      const { status, body } = await calls.read({ customer_id: customerId })
      expect({ status, users: body.data?.length }).toEqual({ status: 200, users: 1 })
      return body.data[0] as PreferencesBody
    },
    history: (query) => get(`${PREFERENCES_PATH}/history`, query),
    async proofsOf(customerId) {
      const { status, body } = await calls.history({ customer_id: customerId, limit: '500' })
      expect({ status, more: body.next_before }).toEqual({ status: 200, more: undefined })
      return body.data
    },
  }
  return calls
}
