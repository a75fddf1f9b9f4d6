// Kills a serving process while it creates campaigns: repeating each request with its Idempotency-Key makes each campaign once.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createWorkspace, type NewWorkspace } from '../../src/actions/create-workspace.ts'
import type { Database } from '../../src/store/store.ts'
import { CAMPAIGNS_PATH } from '../support/calls/campaign-calls.ts'
import { basic, environmentOf, startServing } from '../support/program.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'

const CAMPAIGNS = 80
/** The server is killed after so many answers, while further requests are carried out. */
const ANSWERS_BEFORE_KILL = [5, 30, 55]

describeEachStore('A killed creation (create_campaign)', (kind) => {
  let location: TestLocation
  let database: Database
  let workspace: NewWorkspace

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    workspace = await createWorkspace(database, 'main', {}, Date.now())
  })
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  const create = async (url: string, key: string): Promise<string> => {
    const body = { name: key, platforms: ['EMAIL'], conversion_goals: [], created_by: 'anna' }
    const response = await fetch(url + CAMPAIGNS_PATH, {
      method: 'POST',
      headers: {
        authorization: basic(workspace.id, workspace.reportsKey),
        'svc-appkey': 'main',
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify(body),
    })
    expect(response.status).toBe(201)
    return ((await response.json()) as { readonly campaign_id: string }).campaign_id
  }

  it.each(ANSWERS_BEFORE_KILL)(
    'takes effect once when it is repeated after %i answers and a kill',
    async (answersMax) => {
      const keys = Array.from({ length: CAMPAIGNS }, (_, index) => `after-${answersMax}-${index}`)
      const answered = new Map<string, string>()
      const killed = await startServing(environmentOf(location))
      const sent = keys.map(async (key) => {
        answered.set(key, await create(killed.started.url, key))
        if (answered.size === answersMax) killed.child.kill('SIGKILL')
      })
      const outcomes = await Promise.allSettled(sent)
      expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true)
      await killed.ended

      const next = await startServing(environmentOf(location))
      const ids = new Map<string, string>()
      for (const key of keys) ids.set(key, await create(next.started.url, key))
      await next.stop()
      for (const [key, id] of answered) expect(ids.get(key)).toBe(id)
      const campaigns = database.query
        .selectFrom('campaigns')
        .select('id')
        .where('name', 'like', `after-${answersMax}-%`)
      const stored = (await campaigns.execute()).map(({ id }) => id)
      expect(stored.toSorted()).toEqual([...ids.values()].toSorted())
    },
  )
})
