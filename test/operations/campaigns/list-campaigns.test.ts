// Finding campaigns by a part of the name and by state, through real HTTP, on every store.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { CAMPAIGN_STATES, type CampaignState } from '../../../src/core/delivery/delivery-changes.ts'
import { changeDeliveryState } from '../../../src/store/delivery/deliveries.ts'
import { saveWaiting, takeSenderLease } from '../../../src/store/senders/sender-leases.ts'
import { deliveryCallsOf, type DeliveryCalls } from '../../support/delivery/delivery-calls.ts'
import {
  expectRefusal,
  LIMITS_OF_TESTS,
  startServer,
  type TestServer,
  type TestWorkspace,
} from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const HALT = { since: 1, reason: 'The server takes no mail.' }

describeEachStore('Finding campaigns (list_campaigns)', (kind) => {
  let server: TestServer
  let calls: DeliveryCalls

  beforeAll(async () => {
    server = await startServer(kind, {}, { withPipeline: false, withDelivery: false })
    calls = deliveryCallsOf(server)
  })
  afterAll(() => server.stop())

  const makeWorkspace = () => server.makeWorkspace({ limits: LIMITS_OF_TESTS })
  /** The names of a page. */
  const find = async (query: string, as: TestWorkspace): Promise<string[]> => {
    const { status, body } = await calls.list(`?limit=100${query}`, as)
    expect(status).toBe(200)
    return body.data.map(({ name }) => name)
  }

  const searches: [text: string, found: string[]][] = [
    ['summer', ['SUMMER sale', 'Late summer']],
    ['SALE', ['50% sale', 'SUMMER sale']],
    ['Ümlaut', ['Ümlaut']],
    ['ümlaut', []],
    ['mLAUT', ['Ümlaut']],
    ['%', ['50% sale']],
    ['_', ['snake_case']],
    ['\\', ['back\\slash']],
    ['winter', []],
    ['r s', ['SUMMER sale']],
  ]
  it('finds the names that contain a text, in any case of ASCII letters', async () => {
    const as = await makeWorkspace()
    const names = ['Late summer', 'SUMMER sale', '50% sale', 'Ümlaut', 'snake_case', 'back\\slash']
    for (const name of names) await calls.make({ name }, as)
    await calls.make({ name: 'summer elsewhere' }, await makeWorkspace())
    for (const [text, found] of searches) {
      expect([text, await find(`&search=${encodeURIComponent(text)}`, as)]).toEqual([text, found])
    }
  })

  /** Makes a campaign in each state, which is its name. */
  async function makeStates(as: TestWorkspace): Promise<Map<CampaignState, string>> {
    const made = new Map<CampaignState, string>()
    const make = async (state: CampaignState, fields = {}) => {
      const id = await calls.make({ name: state, delivery: await calls.deliveryOf(fields, as) }, as)
      made.set(state, id)
      return id
    }
    const start = async (state: CampaignState, fields = {}) => {
      const id = await make(state, fields)
      expect((await calls.put(id, 'start', as)).status).toBe(204)
      return id
    }
    made.set('none', await calls.make({ name: 'none' }, as))
    await make('draft')
    await start('scheduled', { start_at: '2190-01-01T00:00:00Z' })
    await start('running')
    await calls.put(await start('paused'), 'pause', as)
    await calls.put(await start('cancelled'), 'cancel', as)
    const overdue = await start('overdue', { start_at: '2190-01-01T00:00:00Z' })
    const finished = await start('finished')
    const waiting = await start('waiting')
    const [late, over, held] = await Promise.all([overdue, finished, waiting].map((id) => calls.storedOf(id, as)))
    await server.database.write(async (store) => {
      await changeDeliveryState(store, late?.campaign ?? 0, { to: 'overdue' })
      await changeDeliveryState(store, over?.campaign ?? 0, { to: 'finished' })
      const wish = { sender: held?.sender ?? 0, holder: 'h', keptMs: 1, isAlone: true }
      const lease = await takeSenderLease(store, wish)
      if (lease) await saveWaiting(store, lease, HALT)
    })
    return made
  }

  it('finds the campaigns in a state, as Get campaign shows it, and those that are only measured', async () => {
    const as = await makeWorkspace()
    await makeStates(await makeWorkspace())
    const made = await makeStates(as)
    expect([...made.keys()].toSorted()).toEqual([...CAMPAIGN_STATES].toSorted())
    for (const [state, id] of made) {
      expect((await calls.stateOf(id, as)) ?? 'none').toBe(state)
      expect([state, await find(`&state=${state}`, as)]).toEqual([state, [state]])
      const others = CAMPAIGN_STATES.filter((other) => other !== state)
      const found = await find(`&state=${others.join(',')}`, as)
      expect(found.toSorted()).toEqual([...others].toSorted())
    }
    expect(await find(`&state=${CAMPAIGN_STATES.join(',')}`, as)).toEqual(await find('', as))
  })

  it('takes several states with commas or repeated, combined with a text and with archived campaigns', async () => {
    const as = await makeWorkspace()
    await makeStates(as)
    const [old] = (await calls.list('?state=draft', as)).body.data
    await calls.archive(old?.campaign_id ?? '', as)
    await calls.make({ name: 'draft none' }, as)
    expect(await find('&state=paused,none', as)).toEqual(['draft none', 'paused', 'none'])
    expect(await find('&state=paused&state=none,draft', as)).toEqual(['draft none', 'paused', 'none'])
    expect(await find('&state=paused,draft&archived=all', as)).toEqual(['paused', 'draft'])
    expect(await find('&state=draft&archived=true', as)).toEqual(['draft'])
    expect(await find('&state=draft,none&search=DRAFT', as)).toEqual(['draft none'])
    expect(await find('&state=draft,none&search=DRAFT&archived=all', as)).toEqual(['draft none', 'draft'])
    expect(await find('&search=draft&archived=true', as)).toEqual(['draft'])
  })

  it('pages neither overlap nor skip', async () => {
    const as = await makeWorkspace()
    const wanted: string[] = []
    for (let count = 0; count < 7; count++) {
      wanted.unshift(await calls.make({ name: `Sale ${count}` }, as))
      await calls.make({ name: `Other ${count}` }, as)
      await calls.make({ name: `Sale ${count}`, delivery: await calls.deliveryOf({}, as) }, as)
    }
    const found: string[] = []
    for (let before = ''; ;) {
      const { body } = await calls.list(`?search=sale&state=none&limit=2${before}`, as)
      found.push(...body.data.map(({ campaign_id: id }) => id))
      if (body.next_before === null) break
      before = `&before=${body.next_before}`
    }
    expect(found).toEqual(wanted)
  })

  it.each([
    ['&state=sleeping', 'query.state'],
    ['&state=draft,', 'query.state'],
    ['&state=', 'query.state'],
    ['&state=draft&state=DRAFT', 'query.state'],
    ['&search=', 'query.search'],
    ['&search=%00', 'query.search'],
    ['&search=a&search=b', 'query.search'],
  ])('refuses %s', async (query, field) => {
    expectRefusal(await calls.list(`?limit=1${query}`), 400, 'invalid_request', [field])
  })
})
