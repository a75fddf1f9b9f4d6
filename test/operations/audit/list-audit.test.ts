// The list of the audit trail and its export, through real HTTP, on every store.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Static } from 'typebox'
import { recordChange } from '../../../src/actions/audit/record-change.ts'
import { ROLES } from '../../../src/core/accounts/role.ts'
import type { AuditOutput } from '../../../src/operations/audit/audit-body.ts'
import { signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import { segmentCallsOf } from '../../support/calls/segment-calls.ts'
import { expectRefusal, startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const NOON = Date.parse('2026-05-10T12:00:00Z')
const CSV = { accept: 'text/csv' }
const HEADER = 'number,at,who,address,action,kind,subject_id,subject_name,changes,further_changes,request_id'
const SUPPRESSIONS = '/core-services/v1/suppressions'

interface Page {
  readonly data: readonly Static<typeof AuditOutput>[]
  readonly next_before: string | null
}

describeEachStore('The audit trail over HTTP (list_audit)', (kind) => {
  let server: TestServer
  let owner: SignedInPerson

  beforeAll(async () => {
    server = await startServer(kind, { PII_KEY: randomBytes(32).toString('base64') }, { withDelivery: false })
    owner = await signInAs(server, 'owner')
  })
  afterAll(() => server.stop())

  const pathOf = ({ id }: TestWorkspace, query = '') => `/v1/workspaces/${id}/audit${query}`
  const list = (workspace: TestWorkspace, query = '', person = owner) => {
    return server.call<Page>('GET', pathOf(workspace, query), { as: workspace, person })
  }
  const namesOf = async (workspace: TestWorkspace, query: string) => {
    const { status, body } = await list(workspace, query)
    expect({ status, query }).toEqual({ status: 200, query })
    return body.data.map(({ subject_name: name }) => name)
  }
  const record = (workspace: TestWorkspace, name: string, now: number) => {
    const request = { callerAddress: '192.0.2.7', requestId: 'r1', now }
    const by = { ...request, workspace, credential: { kind: 'key', tile: 'data' } } as const
    const change = { kind: 'template', id: `id-${name}`, name, action: 'update_template', after: { name } } as const
    return server.database.write((store) => recordChange(store, by, change))
  }

  it('shows what a key and a person did, newest first', async () => {
    const workspace = await server.makeWorkspace()
    const segments = segmentCallsOf(server, workspace)
    const id = await segments.make({ attribute: 'plan', operator: 'exists' })
    const marketer = await signInAs(server, 'marketer', workspace.id)
    const path = `/core-services/v1/segments/${id}`
    const changed = await server.call('PATCH', path, { as: workspace, person: marketer, body: { name: 'Payers' } })
    expect(changed.status).toBe(200)
    const { body } = await list(workspace)
    expect(body).toEqual({
      data: [
        {
          number: 2,
          at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
          who: `person:${marketer.email}`,
          address: '127.0.0.1',
          action: 'update_segment',
          kind: 'segment',
          subject_id: id,
          subject_name: 'Payers',
          changes: [{ field: 'name', before: expect.any(String) as string, after: 'Payers' }],
          further_changes: 0,
          request_id: changed.headers.get('x-request-id'),
        },
        expect.objectContaining({ number: 1, who: 'key:reports', action: 'create_segment', subject_id: id }),
      ],
      next_before: null,
    })
  })

  it('belongs to owners, of their own workspaces', async () => {
    const [one, other] = [await server.makeWorkspace(), await server.makeWorkspace()]
    await record(one, 'secret', NOON)
    expect((await list(one, '', await signInAs(server, 'owner', one.id))).body.data).toHaveLength(1)
    for (const role of ROLES.filter((other) => other !== 'owner')) {
      expectRefusal(await list(one, '', await signInAs(server, role, one.id)), 403, 'forbidden')
    }
    expectRefusal(await list(one, '', await signInAs(server, 'owner', other.id)), 403, 'forbidden')
    for (const tile of ['data', 'reports'] as const) {
      expectRefusal(await server.call('GET', pathOf(one), { as: one, tile }), 403, 'forbidden')
    }
    expectRefusal(await server.call('GET', pathOf(one), { as: null }), 401, 'unauthorized')
    expect((await list(other)).body.data).toEqual([])
  })

  it('is filtered by each member, and by a range of time in the zone of the workspace', async () => {
    const workspace = await server.makeWorkspace({ timezone: 'Europe/Berlin' })
    for (const [index, name] of ['a', 'b', 'c'].entries()) await record(workspace, name, NOON + index * 3_600_000)
    const by = { callerAddress: null, requestId: null, now: NOON + 3 * 3_600_000, workspace }
    await server.database.write((store) => {
      const command = { ...by, credential: { kind: 'command', user: 'ada' } } as const
      return recordChange(store, command, { kind: 'key', id: 'data', name: 'd', action: 'renew', secrets: ['key'] })
    })
    const table: [query: string, names: string[]][] = [
      ['?kind=template', ['c', 'b', 'a']],
      ['?kind=key', ['d']],
      ['?who=command:ada', ['d']],
      ['?who=key:data&kind=key', []],
      ['?action=update_template&limit=2', ['c', 'b']],
      ['?subject=id-b', ['b']],
      ['?from=2026-05-10T13:00:00Z', ['d', 'c', 'b']],
      ['?to=2026-05-10T13:00:00Z', ['a']],
      ['?from=2026-05-10T15:00:00&to=2026-05-10T16:00:00', ['b']],
      ['?from=2026-05-11', []],
    ]
    for (const [query, names] of table)
      expect({ query, names: await namesOf(workspace, query) }).toEqual({ query, names })
  })

  it('finds what was done with a suppressed address by the address, in any case', async () => {
    for (const emailProtection of ['none', 'encrypted'] as const) {
      const workspace = await server.makeWorkspace({ emailProtection })
      const options = { as: workspace, tile: 'reports' } as const
      for (const email of ['ada@example.com', 'ben@example.com']) {
        await server.call('POST', SUPPRESSIONS, { ...options, body: { email } })
      }
      await server.call('DELETE', `${SUPPRESSIONS}?email=ada@example.com`, options)
      const { body } = await list(workspace, '?subject=Ada%40Example.com')
      expect(body.data.map(({ action }) => action)).toEqual(['remove_suppression', 'add_suppression'])
      expect(JSON.stringify((await list(workspace)).body)).not.toContain('example.com')
    }
  })

  it('comes in pages that neither overlap nor skip', async () => {
    const workspace = await server.makeWorkspace()
    for (const [index, name] of ['a', 'b', 'c', 'd', 'e'].entries())
      await record(workspace, name, NOON + Math.floor(index / 2))
    const seen: unknown[] = []
    for (let before: string | null = ''; before !== null;) {
      const { body }: { body: Page } = await list(workspace, `?limit=2${before && `&before=${before}`}`)
      seen.push(...body.data.map(({ subject_name: name }) => name))
      before = body.next_before
    }
    expect(seen).toEqual(['e', 'd', 'c', 'b', 'a'])
  })

  it('is exported as CSV with everything that matches', async () => {
    const workspace = await server.makeWorkspace()
    for (let index = 0; index < 250; index++) await record(workspace, `n${index}`, NOON + index)
    await record(workspace, 'a "quoted", name', NOON + 1_000)
    const answer = await server.call<string>('GET', pathOf(workspace), { as: workspace, person: owner, headers: CSV })
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const lines = answer.body.trimEnd().split('\n')
    expect(lines.slice(0, 2)).toEqual([
      HEADER,
      '251,2026-05-10T12:00:01.000Z,key:data,192.0.2.7,update_template,template,"id-a ""quoted"", name","a ""quoted"", name",' +
        '"[{""field"":""name"",""before"":null,""after"":""a \\""quoted\\"", name""}]",0,r1',
    ])
    expect(lines.slice(2).map((line) => line.split(',')[7])).toEqual(
      Array.from({ length: 250 }, (_, index) => `n${249 - index}`),
    )
    await record(workspace, '=1+1', NOON + 2_000)
    const formula = await server.call<string>('GET', pathOf(workspace), { as: workspace, person: owner, headers: CSV })
    expect(formula.body.split('\n')[1]).toContain(",id-=1+1,'=1+1,")
    const some = await server.call<string>('GET', pathOf(workspace, '?subject=id-n7'), {
      as: workspace,
      person: owner,
      headers: CSV,
    })
    expect(some.body.split('\n')).toHaveLength(3)
  })

  it.each([
    ['?kind=planet', ['query.kind']],
    ['?from=yesterday&to=2026', ['query.from']],
    ['?from=2026-05-11&to=2026-05-10', ['query.to']],
    ['?before=7', ['query.before']],
    ['?limit=0&other=1', ['query.limit', 'query.other']],
  ])('refuses %s', async (query, fields) => {
    expectRefusal(await list(server.workspace, query), 400, 'invalid_request', fields)
  })

  it('refuses pages of CSV', async () => {
    const options = { as: server.workspace, person: owner, headers: CSV }
    const refused = await server.call('GET', pathOf(server.workspace, '?limit=3&before=x'), options)
    expectRefusal(refused, 400, 'invalid_request', ['query.before', 'query.limit'])
  })
})
