// The links in messages over real HTTP, on every store: clicks, pictures, and what is no link ("Links, opens, unsubscribing").
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { listHitsOf, storeRun, type SentRun, type StoredHitRow } from '../../support/calls/link-calls.ts'
import { preferenceCalls } from '../../support/calls/preference-calls.ts'
import { reportCallsOf } from '../../support/calls/report-calls.ts'
import { startServer, until, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const LINKS = [
  'https://shop.example/a?b=1&c=2#part',
  'https://shop.example/?id={{ customer_id }}',
  'mailto:a@example.com',
]
const TARGET = 'https://shop.example/?id=c1'
const PRIVATE = { 'cache-control': 'no-store', 'x-robots-tag': 'noindex', 'referrer-policy': 'no-referrer' }

describeEachStore('Links of messages', (kind) => {
  let server: TestServer
  let campaign: number
  let run: SentRun

  beforeAll(async () => {
    server = await startServer(kind)
    await preferenceCalls(server).makeUsers(['c1', 'c2'])
    campaign = (await reportCallsOf(server).makeCampaign()).number
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    const sent = {
      campaign,
      links: LINKS,
      customers: ['c1', 'c2'],
      targets: { 2: TARGET, 100_002: `${TARGET}&turn=2` },
    }
    run = await storeRun(server.database, { workspaceId: server.workspace.id, ...sent })
  })

  const open = (path: string, options: RequestInit = {}) => fetch(server.url + path, { redirect: 'manual', ...options })

  /** Waits until the run has this many hits. */
  const hits = (count: number): Promise<StoredHitRow[]> =>
    until(`there are ${count} hits`, async () => {
      const rows = await listHitsOf(server.database, run.number)
      return rows.length >= count && rows
    })

  const privateHeaders = ({ headers }: Response) =>
    Object.fromEntries(Object.keys(PRIVATE).map((name) => [name, headers.get(name)]))

  it('lead to their target, with its fragment, and are hits', async () => {
    const answer = await open(`/c/${run.tokenOf('click', 1, 1)}`, { headers: { 'user-agent': 'Browser' } })
    expect([answer.status, answer.headers.get('location')]).toEqual([302, LINKS[0]])
    expect(privateHeaders(answer)).toEqual(PRIVATE)
    const [hit] = await hits(1)
    expect(hit).toMatchObject({
      message: 1,
      kind: 'click',
      link: 1,
      ip: '127.0.0.1',
      user_agent: 'Browser',
      is_automatic: 0,
    })
    expect(hit).toMatchObject({ verdict: null, is_told: 0 })
  })

  it('lead each person to a target of their own', async () => {
    const answer = await open(`/c/${run.tokenOf('click', 1, 2)}`)
    expect([answer.status, answer.headers.get('location')]).toEqual([302, TARGET])
    const repeated = await open(`/c/${run.tokenOf('click', 1, 100_002)}`)
    expect([repeated.status, repeated.headers.get('location')]).toEqual([302, `${TARGET}&turn=2`])
  })

  it('show a picture, which is a hit too', async () => {
    const answer = await open(`/o/${run.tokenOf('open', 2)}`)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/gif'])
    expect(privateHeaders(answer)).toEqual(PRIVATE)
    expect(Buffer.from(await answer.arrayBuffer()).subarray(0, 10)).toEqual(Buffer.from('GIF89a\u0001\0\u0001\0'))
    expect((await hits(1)).at(-1)).toMatchObject({ message: 2, kind: 'open', link: 0 })
  })

  it.each<[string, RequestInit]>([
    ['HEAD', { method: 'HEAD' }],
    ['Purpose: prefetch', { headers: { purpose: 'prefetch' } }],
    ['Sec-Purpose: prefetch;prerender', { headers: { 'sec-purpose': 'prefetch;prerender' } }],
    ['X-Purpose: preview', { headers: { 'x-purpose': 'preview' } }],
    ['X-Moz: prefetch', { headers: { 'x-moz': 'prefetch' } }],
  ])('answer %s like any other request, and note that no person made it', async (_what, options) => {
    const click = await open(`/c/${run.tokenOf('click', 1, 1)}`, options)
    expect([click.status, click.headers.get('location')]).toEqual([302, LINKS[0]])
    const picture = await open(`/o/${run.tokenOf('open', 1)}`, options)
    expect([picture.status, picture.headers.get('content-length')]).toEqual([200, '42'])
    const added = await hits(2)
    expect(added.map(({ is_automatic }) => is_automatic)).toEqual([1, 1])
  })

  it('of tests lead to their target, and are no hits', async () => {
    expect((await open(`/c/${run.tokenOf('click', 0, 1)}`)).status).toBe(302)
    expect((await open(`/c/${run.tokenOf('click', 0, 2)}`)).status).toBe(404)
    await open(`/c/${run.tokenOf('click', 1, 1)}`)
    expect((await hits(1)).map(({ message }) => message)).toEqual([1])
  })

  it('work while the workspace is suspended', async () => {
    await server.changeSettings(server.workspace, { suspended: true })
    expect((await open(`/c/${run.tokenOf('click', 1, 1)}`)).status).toBe(302)
    expect((await open(`/u/${run.tokenOf('unsubscribe', 1)}`)).status).toBe(200)
    await server.changeSettings(server.workspace, {})
  })

  it('that are wrong are all the same 404', async () => {
    const good = run.tokenOf('click', 1, 1)
    const other = await storeRun(server.database, {
      workspaceId: (await server.makeWorkspace()).id,
      campaign: 999,
      customers: [],
      links: LINKS,
    })
    const paths = [
      `/c/${good.slice(0, -1)}`,
      `/c/${good}A`,
      '/c/x',
      `/c/${run.tokenOf('open', 1)}`,
      `/c/${run.tokenOf('click', 1, 3)}`,
      `/c/${run.tokenOf('click', 1, 4)}`,
      `/c/${run.tokenOf('click', 2, 2)}`,
      `/c/${flipped(other.tokenOf('click', 1, 1))}`,
      `/u/${good}`,
      `/p/${run.tokenOf('unsubscribe', 1)}`,
      `/v/${good}`,
      `/v/${run.tokenOf('view', 1)}`,
    ]
    const answers = await Promise.all(paths.map((path) => open(path)))
    const texts = await Promise.all(answers.map((answer) => answer.text()))
    expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 404))
    expect(new Set(texts).size).toBe(1)
    for (const answer of answers) {
      expect(privateHeaders(answer)).toEqual(PRIVATE)
      expect([...answer.headers.keys()].toSorted()).toEqual([...(answers[0] as Response).headers.keys()].toSorted())
    }
    for (const path of [`/u/${good}`, `/p/${good}`]) expect((await open(path, { method: 'POST' })).status).toBe(404)
  })

  it('show the picture also for a wrong token, and note nothing', async () => {
    for (const token of ['x', run.tokenOf('click', 1, 1), flipped(run.tokenOf('open', 1))]) {
      const answer = await open(`/o/${token}`)
      expect([answer.status, answer.headers.get('content-length')]).toEqual([200, '42'])
    }
    await open(`/o/${run.tokenOf('open', 2)}`)
    expect(await hits(1)).toHaveLength(1)
  })

  it('never lead where the request says', async () => {
    const token = run.tokenOf('click', 1, 1)
    const evil = 'https://evil.example/'
    const paths = [`/c/${token}?url=${evil}`, `/c/${token}?u=${evil}#${evil}`, `/c//${token}`]
    for (const path of paths) {
      const answer = await open(path, { headers: { 'x-forwarded-host': 'evil.example', host: 'evil.example' } })
      expect([answer.status, answer.headers.get('location')]).toEqual([302, LINKS[0]])
    }
    expect((await open(`/c/${token}/${evil}`)).status).toBe(404)
    expect((await open(`/c/${encodeURIComponent(evil)}`)).status).toBe(404)
  })

  it.each<[string, string, string]>([
    ['POST', 'c', 'GET, HEAD'],
    ['PUT', 'u', 'GET, HEAD, POST'],
    ['DELETE', 'p', 'GET, HEAD, POST'],
    ['POST', 'o', 'GET, HEAD'],
    ['POST', 'v', 'GET, HEAD'],
  ])('refuse %s of /%s', async (method, path, allowed) => {
    const answer = await open(`/${path}/x`, { method })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allowed])
  })

  it('lead to the targets of their own run', async () => {
    const other = await storeRun(server.database, {
      workspaceId: server.workspace.id,
      campaign,
      links: ['https://other.example/'],
      customers: ['c1'],
    })
    for (let round = 0; round < 2; round++) {
      const answer = await open(`/c/${other.tokenOf('click', 1, 1)}`)
      expect(answer.headers.get('location')).toBe('https://other.example/')
    }
  })
})

function flipped(token: string): string {
  return `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`.replace(/.$/, (last) => (last === 'A' ? 'E' : 'A'))
}
