// Start recount and Get recount, through real HTTP on every store: a job checks the numbers of a campaign, also one that another
// process did not finish, and names numbers that differ.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Static } from 'typebox'
import { ANYTHING } from '../../../src/core/statistics/anything.ts'
import { ANY_GROUP, cellKey, CellSum, NO_DAY, seriesKey, type Cell } from '../../../src/core/statistics/cells.ts'
import { addCells, streamCells } from '../../../src/store/statistics/statistics.ts'
import type { RecountOutput } from '../../../src/operations/statistics/recount-body.ts'
import {
  claimRecount,
  findRecount,
  requestRecount,
  saveRecountProgress,
} from '../../../src/store/statistics/recounts.ts'
import { findCampaign } from '../../../src/store/campaigns/campaigns.ts'
import { signInAs } from '../../support/accounts/sign-in-as.ts'
import { CAMPAIGNS_PATH, campaignCallsOf } from '../../support/calls/campaign-calls.ts'
import { expectRefusal, startServer, until, type TestServer } from '../../support/server.ts'
import { addReportedCampaign } from '../../support/statistics/reported-campaign.ts'
import { describeEachStore } from '../../support/stores.ts'

type Body = Static<typeof RecountOutput>

describeEachStore('Recounts (start_recount, get_recount)', (kind) => {
  let server: TestServer
  let campaign: string
  beforeAll(async () => {
    server = await startServer(kind, {}, { withDelivery: false })
    campaign = await addReportedCampaign(server, 'Spring sale')
  })
  afterAll(() => server.stop())

  const call = (method: 'GET' | 'POST', id = campaign) =>
    server.call<Body>(method, `${CAMPAIGNS_PATH}/${id}/recount`, { tile: 'reports' })
  const numberOf = async (id: string) => (await findCampaign(server.database, server.workspace.id, id))?.number ?? 0
  const finished = () =>
    until('the recount is over', async () => {
      const { recount } = (await call('GET')).body
      return recount?.state === 'finished' && recount
    })

  it('find nothing before the first, and no unknown campaign', async () => {
    const id = await campaignCallsOf(server).make()
    expect(await call('GET', id)).toMatchObject({ status: 200, body: { campaign_id: id, recount: null } })
    for (const method of ['GET', 'POST'] as const) expectRefusal(await call(method, 'unknown'), 404, 'not_found')
  })

  it('compare all numbers of the campaign with its facts', async () => {
    const asked = await call('POST')
    expect(asked.body.recount).toMatchObject({ state: 'waiting', requested_by: 'key:reports', finished_at: null })
    const { recount } = (await call('POST')).body
    expect(recount?.requested_at).toBe(asked.body.recount?.requested_at)
    const found = await finished()
    expect(found).toMatchObject({ differing_numbers: 0, differences: [], problem: null })
    expect(found.compared_numbers).toBeGreaterThan(0)
    expect(found.counted_users).toBe(found.all_users)
    expect(found.counted_users).toBeGreaterThan(0)
  })

  /** Adds to a stored number of the campaign behind its back; `toOther` makes another cell of it. */
  const meddle = async (by: number, toOther: (sent: Cell) => Cell = (sent) => sent) => {
    const number = await numberOf(campaign)
    await server.database.write(async (store) => {
      for await (const cells of streamCells(store, number)) {
        const sent = cells.find(({ metric, locale, variation }) => {
          return metric === 'sent' && locale === 'de' && variation === 'A'
        })
        if (!sent) continue
        const sum = new CellSum()
        const changed = toOther(sent)
        sum.add(cellKey(seriesKey(changed), changed.day, changed.previousDay), 0, by)
        return addCells(store, sum)
      }
    })
  }

  it('name the numbers that differ', async () => {
    await meddle(5)
    await call('POST')
    const { differing_numbers: differing, differences } = await finished()
    await meddle(-5)
    // Not also that of everything together, which follows from it.
    expect(differing).toBe(1)
    const [{ stored, counted, ...named } = { stored: undefined, counted: undefined }, ...others] = differences
    expect(others).toEqual([])
    expect(named).toMatchObject({ metric: 'sent', locale: 'de', variation: 'A' })
    expect(stored).toEqual({ ...counted, occurrences: (counted?.occurrences ?? 0) + 5 })
  })

  it('name the number of everything together if it is wrong itself', async () => {
    const toAnything = (sent: Cell): Cell => ({ ...sent, group: ANY_GROUP, metric: ANYTHING, previousDay: NO_DAY })
    await meddle(5)
    await meddle(3, toAnything)
    await call('POST')
    const { differing_numbers: differing, differences } = await finished()
    await meddle(-3, toAnything)
    await meddle(-5)
    expect([differing, ...differences.map(({ metric }) => metric)]).toEqual([2, 'sent', 'anything'])
  })

  it('may be asked for by an analyst', async () => {
    const person = await signInAs(server, 'analyst', 'main')
    const path = `${CAMPAIGNS_PATH}/${campaign}/recount`
    const asked = await server.call<Body>('POST', path, { person })
    expect(asked).toMatchObject({ status: 200, body: { recount: { requested_by: `person:${person.email}` } } })
    await finished()
  })

  it('of a process that died begin again, and what that process still says does not count', async () => {
    const [number, { database }] = [await numberOf(campaign), server]
    const long = Date.now() - 60_000
    const claim = await database.write(async (store) => {
      await requestRecount(store, { campaign: number, workspaceId: 'main', at: long, by: 'key:reports' })
      return claimRecount(store, { campaign: number, workspaceId: 'main' }, long)
    })
    if (!claim) throw new Error('the recount was not claimed')
    const found = await finished()
    expect(Date.parse(found.started_at ?? '')).toBeGreaterThan(long)
    const progress = { countedUsers: 1, allUsers: 2, now: Date.now() }
    expect(await database.write((store) => saveRecountProgress(store, claim, progress))).toBe(false)
  })

  it('end with their campaign', async () => {
    const id = await campaignCallsOf(server).make()
    const number = await numberOf(id)
    await call('POST', id)
    await campaignCallsOf(server).delete(id)
    expect(await findRecount(server.database, number)).toBeUndefined()
  })
})
