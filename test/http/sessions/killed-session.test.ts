// The first start prints a link for the owner, whose session survives the death of the server (get_session, accept_access_link).
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NEW_PASSWORD, type SessionBody } from '../../support/accounts/account-calls.ts'
import { environmentOf, startServing, type Environment, type Started } from '../../support/program.ts'
import { describeEachStore, makeLocation, type TestLocation } from '../../support/stores.ts'

describeEachStore('A session of a killed server', (kind) => {
  let location: TestLocation
  let environment: Environment

  beforeAll(async () => {
    location = await makeLocation(kind)
    environment = environmentOf(location)
  })
  afterAll(() => location.remove())

  const acceptSetup = ({ url, setup_url: link = '' }: Started) => {
    const token = new URL(link).hash.slice(1)
    const body = { token, email: 'ada@example.com', name: 'Ada', password: NEW_PASSWORD }
    const headers = { 'content-type': 'application/json' }
    return fetch(`${url}/v1/access-links/accept`, { method: 'POST', headers, body: JSON.stringify(body) })
  }

  it('is still there after the next start, which prints no other link', async () => {
    const unused = await startServing(environment)
    await unused.stop('SIGKILL')
    const first = await startServing(environment)
    // Nobody has used the link of the start before.
    expect(first.started.setup_url).not.toBe(unused.started.setup_url)
    const accepted = await acceptSetup(first.started)
    expect(accepted.status).toBe(200)
    const cookie = accepted.headers.get('set-cookie')?.split(';')[0] ?? ''
    await first.stop('SIGKILL')

    const next = await startServing(environment)
    expect(next.started.setup_url).toBeUndefined()
    const session = await fetch(`${next.started.url}/v1/session`, { headers: { cookie } })
    expect(session.status).toBe(200)
    const { person, workspaces } = ((await session.json()) as { session: SessionBody }).session
    expect([person.email, workspaces]).toMatchObject(['ada@example.com', [{ workspace_id: 'main', role: 'owner' }]])
    expect(await next.stop()).toMatchObject({ status: 0, stderr: '' })
  })
})
