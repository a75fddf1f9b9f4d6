// What tests of events and users do again and again: send, wait until it is applied, and read back.
import { expect } from 'vitest'
import { until, type Answer, type TestServer, type TestWorkspace } from '../server.ts'

/** How many events are in the log of a server. */
export async function countAccepted(server: TestServer): Promise<number> {
  const { body } = await server.call<string>('GET', '/metrics')
  return Number(/^tidings_events_accepted_total (\d+)$/m.exec(body)?.[1])
}

export interface AcceptedBody {
  readonly status: string
  readonly message: string
  readonly request_id: string
}

export interface EventItem {
  readonly event_id: string
  readonly action: string
  readonly attributes: Record<string, unknown>
  readonly platform: string | null
  readonly app_version: string | null
  readonly device_id: string | null
  readonly ip: string | null
  readonly time: string
  readonly received_at: string
}

export interface EventPage {
  readonly data: EventItem[]
  readonly next_before: string | null
}

export interface UserBody {
  readonly customer_id: string | null
  readonly attributes: Record<string, unknown>
  readonly user_identifiers: Record<string, string>
  readonly created_at: string
  readonly last_event_at: string | null
}

export interface Fate {
  readonly request_id: string
  readonly status: 'accepted' | 'processed' | 'parked'
  readonly events: number
  readonly duplicates: number
  readonly error?: string
}

type Headers = Readonly<Record<string, string | undefined>>
/** Query fields; those undefined are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>

export interface Tracking {
  /** Sends a Track Events body. `path` follows the workspace id, such as `/code` or `?project_code=code`. */
  events(body: unknown, headers?: Headers, path?: string): Promise<Answer<AcceptedBody>>
  /** Sends a Track User body. */
  user(body: unknown, headers?: Headers): Promise<Answer<AcceptedBody>>
  /** Waits until an accepted request is no longer waiting, and tells what became of it. */
  fateOf(answer: Answer<AcceptedBody>): Promise<Fate>
  /** Sends both kinds of bodies in turn and waits until the last of them is applied. */
  apply(...bodies: readonly Readonly<Record<string, unknown>>[]): Promise<void>
  getUser(query: Query): Promise<Answer<UserBody>>
  listEvents(query: Query): Promise<Answer<EventPage>>
}

/** Calls in the name of one workspace. */
export function trackingOf(server: TestServer, workspace: TestWorkspace = server.workspace): Tracking {
  const as = workspace
  const post = (path: string, body: unknown, headers: Headers = {}) => {
    return server.call<AcceptedBody>('POST', path, { as, body, headers })
  }
  const tracking: Tracking = {
    events: (body, headers, path = '') => post(`/v1/event/${workspace.id}${path}`, body, headers),
    user: (body, headers) => post(`/v1/customer/${workspace.id}`, body, headers),
    async fateOf(answer) {
      expect(answer).toMatchObject({ status: 200 })
      const path = `/v1/event/${workspace.id}/requests/${answer.body.request_id}`
      return until('the request is applied', async () => {
        const found = await server.call<Fate>('GET', path, { as })
        expect(found.status).toBe(200)
        return found.body.status === 'accepted' ? undefined : found.body
      })
    },
    async apply(...bodies) {
      const answers: Answer<AcceptedBody>[] = []
      for (const body of bodies) {
        const answer = body['type'] === 'customer' ? await tracking.user(body) : await tracking.events(body)
        expect(answer).toMatchObject({ status: 200 })
        answers.push(answer)
      }
      // In a log with partitions the last may be applied before others.
      for (const answer of answers.toReversed()) {
        expect(await tracking.fateOf(answer)).toMatchObject({ status: 'processed' })
      }
    },
    getUser: (query) => server.call('GET', `/v1/customer/${workspace.id}?${toQuery(query)}`, { as }),
    listEvents: (query) => server.call('GET', `/v1/event/${workspace.id}?${toQuery(query)}`, { as }),
  }
  return tracking
}

function toQuery(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
}
