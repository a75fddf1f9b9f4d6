// Every operation that changes something writes an entry of the audit trail, through real HTTP, on every store.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OPERATIONS } from '../../../src/operations/operations.ts'
import { entriesAddedBy } from '../../support/audit/audit-entries.ts'
import { callerFor } from '../../support/calls/caller-for.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { CHANGE_REQUESTS, CHANGES_AGAIN, NOT_RECORDED, type ChangeRequest } from './change-requests.ts'

const CHANGING = OPERATIONS.filter(({ method, isReadOnly }) => method !== 'GET' && isReadOnly !== true)

describe('Operations that change something', () => {
  it('each have a request here, or a reason why the audit trail has none', () => {
    const names = [...Object.keys(CHANGE_REQUESTS), ...Object.keys(NOT_RECORDED)]
    expect(names.toSorted()).toEqual(CHANGING.map(({ name }) => name).toSorted())
  })
})

describeEachStore('The audit trail', (kind) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer(kind, {}, { withDelivery: false })
  })
  afterAll(() => server.stop())

  const added = (work: () => Promise<unknown>) => entriesAddedBy(server.database, server.workspace.id, work)
  const recorded = CHANGING.filter(({ name }) => Object.hasOwn(CHANGE_REQUESTS, name))

  it.each(recorded)('has one entry of $name, and none of its repeat', async (operation) => {
    const { name, requires, takesIdempotencyKey } = operation
    const request = await CHANGE_REQUESTS[name]?.(server)
    const { method, path, body } = request as ChangeRequest
    const caller = await callerFor(server, requires)
    const headers = takesIdempotencyKey ? { 'idempotency-key': `audit-${name}` } : {}
    const send = () => server.call(method, path, { ...caller, headers, ...(body !== undefined && { body }) })
    let answer: Awaited<ReturnType<typeof send>> | undefined
    const entries = await added(async () => {
      answer = await send()
    })
    expect({ isDone: (answer?.status ?? 500) < 300, answer: answer?.body }).toMatchObject({ isDone: true })
    expect(entries).toHaveLength(1)
    expect(entries[0]).toMatchObject({
      action: name,
      who: expect.stringMatching(caller.tile ? `^key:${caller.tile}$` : '^person:owner-') as string,
      address: '127.0.0.1',
      requestId: answer?.headers.get('x-request-id'),
      furtherChanges: 0,
    })
    expect(entries[0]?.changes).not.toEqual([])
    const repeated = await added(send)
    expect(repeated.map(({ action }) => action)).toEqual(Object.hasOwn(CHANGES_AGAIN, name) ? [name] : [])
  })
})
