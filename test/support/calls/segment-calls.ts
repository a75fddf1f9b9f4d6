// What tests of segments do again and again: make segments, count and explain them.
import { expect } from 'vitest'
import type { Answer, CallOptions, TestServer, TestWorkspace } from '../server.ts'

export const SEGMENTS_PATH = '/core-services/v1/segments'

export interface SegmentBody {
  readonly segment_id: string
  readonly name: string
  readonly where: unknown
  readonly created_by: string
  readonly created_at: string
  readonly updated_at: string
}

export interface SegmentCount {
  readonly users: number
  readonly with_address: number
  readonly sendable: number
  readonly sample: readonly string[]
}

export interface Explanation {
  readonly customer_id: string
  readonly in: boolean
  readonly conditions: readonly { readonly path: string; readonly condition: unknown; readonly holds: boolean }[]
}

export interface SegmentCalls {
  /** Any operation of segments, with the key of the tile `reports`. */
  call<Body = unknown>(method: string, path: string, options?: CallOptions): Promise<Answer<Body>>
  /** POST; makes up what is not given. */
  create(fields?: Readonly<Record<string, unknown>>): Promise<Answer<SegmentBody>>
  /** The same, which must succeed; returns the id. */
  make(where: unknown): Promise<string>
  patch(id: string, body: unknown): Promise<Answer<SegmentBody>>
  delete(id: string): Promise<Answer<unknown>>
  count(body: unknown): Promise<Answer<SegmentCount>>
  explain(body: unknown): Promise<Answer<Explanation>>
}

export function segmentCallsOf(server: TestServer, as: TestWorkspace = server.workspace): SegmentCalls {
  let made = 0
  const call: SegmentCalls['call'] = (method, path, options = {}) => {
    return server.call(method, SEGMENTS_PATH + path, { tile: 'reports', as, ...options })
  }
  const create: SegmentCalls['create'] = (fields = {}) => {
    const where = { attribute: 'plan', operator: 'exists' }
    return call('POST', '', { body: { name: `Segment ${++made}`, where, created_by: 'anna', ...fields } })
  }
  return {
    call,
    create,
    async make(where) {
      const answer = await create({ where })
      expect(answer).toMatchObject({ status: 201 })
      return answer.body.segment_id
    },
    patch: (id, body) => call('PATCH', `/${id}`, { body }),
    delete: (id) => call('DELETE', `/${id}`),
    count: (body) => call('POST', '/count', { body }),
    explain: (body) => call('POST', '/explain', { body }),
  }
}
