// List, add and remove suppressions, through real HTTP, on every store ("Bounces and complaints").
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectRefusal, startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const PATH = '/core-services/v1/suppressions'
const CSV = { accept: 'text/csv' }

interface SuppressionBody {
  readonly email: string | null
  readonly reason: string
  readonly since: string
  readonly evidence: string | null
}

interface PageBody {
  readonly data: readonly SuppressionBody[]
  readonly next_before: string | null
}

describeEachStore('list_suppressions, add_suppression, remove_suppression', (kind) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer(kind, { PII_KEY: randomBytes(32).toString('base64') })
  })
  afterAll(() => server.stop())

  const as = (workspace: TestWorkspace) => ({ as: workspace, tile: 'reports' as const })
  const add = (workspace: TestWorkspace, body: unknown) => {
    return server.call<SuppressionBody>('POST', PATH, { ...as(workspace), body })
  }
  const list = (workspace: TestWorkspace, query = '') => {
    return server.call<PageBody>('GET', PATH + query, as(workspace))
  }
  const remove = (workspace: TestWorkspace, email: string) => {
    return server.call('DELETE', `${PATH}?email=${encodeURIComponent(email)}`, as(workspace))
  }

  it('adds an address by hand, shows it as it was sent, and finds it in any case', async () => {
    const { status, body } = await add(server.workspace, { email: ' Anna@Example.com ', evidence: 'by phone' })
    expect([status, body]).toEqual([
      201,
      { email: 'Anna@Example.com', reason: 'manual', since: expect.any(String) as string, evidence: 'by phone' },
    ])
    expect((await list(server.workspace, '?email=ANNA%40example.com')).body).toEqual({
      data: [body],
      next_before: null,
    })
    expect((await list(server.workspace, '?email=ANNA%40example.com&reason=complaint')).body.data).toEqual([])
  })

  it('answers with the suppression that stays if it has a stronger reason', async () => {
    const complaint = await add(server.workspace, { email: 'ben@example.com', reason: 'complaint' })
    const again = await add(server.workspace, { email: 'ben@example.com', evidence: 'weaker' })
    expect([again.status, again.body]).toEqual([201, complaint.body])
  })

  it('removes an address once, in any case', async () => {
    await add(server.workspace, { email: 'carl@example.com' })
    expect((await remove(server.workspace, 'CARL@example.com')).status).toBe(204)
    expectRefusal(await remove(server.workspace, 'carl@example.com'), 404, 'not_found')
  })

  it('lists pages, newest first, that neither overlap nor skip', async () => {
    const workspace = await server.makeWorkspace()
    const emails = Array.from({ length: 5 }, (_, index) => `page-${index}@example.com`)
    for (const [index, email] of emails.entries()) {
      server.setClock(Date.UTC(2026, 4, 4) + Math.floor(index / 2))
      await add(workspace, { email, reason: index === 2 ? 'complaint' : 'manual' })
    }
    server.setClock(undefined)
    const seen: (string | null)[] = []
    for (let before: string | null = ''; before !== null;) {
      const { body }: { body: PageBody } = await list(workspace, `?limit=2${before && `&before=${before}`}`)
      seen.push(...body.data.map(({ email }) => email))
      before = body.next_before
    }
    expect(seen).toEqual(emails.toReversed())
    expect((await list(workspace, '?reason=complaint')).body.data.map(({ email }) => email)).toEqual([emails[2]])
  })

  it('answers CSV in which no reply of a server is a formula', async () => {
    const workspace = await server.makeWorkspace()
    await add(workspace, { email: 'a@example.com', evidence: '=1+1' })
    const csv = await server.call<string>('GET', PATH, { ...as(workspace), headers: CSV })
    expect(csv.body.trimEnd().split('\n').at(-1)).toMatch(/^a@example\.com,manual,.*Z,'=1\+1$/)
  })

  it('answers CSV with the whole list, quoted where it must be', async () => {
    const workspace = await server.makeWorkspace()
    server.setClock(Date.UTC(2026, 4, 4))
    await add(workspace, { email: 'b@example.com', reason: 'hard_bounce', evidence: '550 "no", he said\nand left' })
    await add(workspace, { email: 'a@example.com' })
    server.setClock(undefined)
    const csv = await server.call<string>('GET', PATH, { ...as(workspace), headers: CSV })
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(csv.body).toBe(
      'email,reason,since,evidence\na@example.com,manual,2026-05-04T00:00:00.000Z,\n' +
        'b@example.com,hard_bounce,2026-05-04T00:00:00.000Z,"550 ""no"", he said\nand left"\n',
    )
    const some = await server.call<string>('GET', `${PATH}?reason=manual`, { ...as(workspace), headers: CSV })
    expect(some.body.split('\n')).toHaveLength(3)
    const refused = await server.call('GET', `${PATH}?limit=3`, { ...as(workspace), headers: CSV })
    expectRefusal(refused, 400, 'invalid_request', ['query.limit'])
  })

  it('belong to a workspace', async () => {
    const [one, other] = [await server.makeWorkspace(), await server.makeWorkspace()]
    await add(one, { email: 'own@example.com' })
    expect((await list(other)).body.data).toEqual([])
    expectRefusal(await remove(other, 'own@example.com'), 404, 'not_found')
  })

  it.each([
    [{ email: 'anna' }, ['email']],
    [{ email: 'anna\u200b@example.com' }, ['email']],
    [{ email: 'a@example.com', reason: 'because' }, ['reason']],
    [{ email: 'a@example.com', evidence: 'x'.repeat(1_001) }, ['evidence']],
    [{ email: 'a@example.com', note: 'x' }, ['note']],
    [{}, ['email']],
  ])('refuses %j', async (body, fields) => {
    expectRefusal(await add(server.workspace, body), 400, 'invalid_request', fields)
  })

  it('refuses a page that there is not', async () => {
    for (const before of ['x', 'abc-', '2026-05-04T10:00:00Z', 'zzzzzzzzzzzz-YQ']) {
      expectRefusal(await list(server.workspace, `?before=${before}`), 400, 'invalid_request', ['query.before'])
    }
  })

  describe('where emails are encrypted', () => {
    it('shows the address, and stores it nowhere as it is', async () => {
      const workspace = await server.makeWorkspace({ emailProtection: 'encrypted' })
      const headers = { 'idempotency-key': 'secret' }
      const body = { email: 'Secret@example.com' }
      const first = await server.call<SuppressionBody>('POST', PATH, { ...as(workspace), body, headers })
      expect(first.body.email).toBe('Secret@example.com')
      expect((await server.call('POST', PATH, { ...as(workspace), body, headers })).body).toEqual(first.body)
      expect((await list(workspace, '?email=secret@EXAMPLE.com')).body.data).toEqual([first.body])
      const { query } = server.database
      const stored = [
        await query.selectFrom('suppressions').selectAll().where('workspace_id', '=', workspace.id).execute(),
        await query.selectFrom('answered_keys').selectAll().where('workspace_id', '=', workspace.id).execute(),
      ]
      expect(stored.map((rows) => rows.length)).toEqual([1, 1])
      expect(JSON.stringify(stored).toLowerCase()).not.toContain('secret@')
      expect((await remove(workspace, 'secret@example.com')).status).toBe(204)
    })
  })

  it('answers 400 with the reason where emails are tokenized', async () => {
    const workspace = await server.makeWorkspace({ emailProtection: 'tokenized' })
    const answers = [
      await list(workspace),
      await add(workspace, { email: 'a@example.com' }),
      await remove(workspace, 'a@example.com'),
    ]
    for (const answer of answers) {
      expectRefusal(answer, 400, 'invalid_request', ['header.SVC-APPKEY'])
      expect(JSON.stringify(answer.body)).toContain('stores no email addresses')
    }
  })
})
