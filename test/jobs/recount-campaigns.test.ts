// A recount in a server of its own process: it ends its thread and nothing else, and one that a server leaves is found again.
import { expect, it } from 'vitest'
import { CAMPAIGNS_PATH } from '../support/calls/campaign-calls.ts'
import { environmentOf, startServing } from '../support/program.ts'
import { callsTo, until } from '../support/server.ts'
import { makeLocation } from '../support/stores.ts'

interface RecountAnswer {
  readonly recount: { readonly state: string; readonly requested_at: string } | null
}

it('a recount leaves the server running, and goes on after a restart', { timeout: 120_000 }, async () => {
  const location = await makeLocation('sqlite')
  let running = await startServing(environmentOf(location))
  const { first_workspace: made } = running.started
  if (!made) throw new Error('the program made no workspace')
  const workspace = { id: made.workspace_id, dataKey: made.data_key, reportsKey: made.reports_key }
  const call = callsTo(() => running.started.url, workspace)
  const body = { name: 'Spring', platforms: ['EMAIL'], conversion_goals: [], created_by: 'anna' }
  const { body: campaign } = await call<{ campaign_id: string }>('POST', CAMPAIGNS_PATH, { tile: 'reports', body })
  const path = `${CAMPAIGNS_PATH}/${campaign.campaign_id}/recount`
  const ask = async (method: 'GET' | 'POST') =>
    (await call<RecountAnswer>(method, path, { tile: 'reports' })).body.recount
  const untilFinished = () => until('the recount is over', async () => (await ask('GET'))?.state === 'finished')
  for (let time = 0; time < 2; time++) {
    expect(await ask('POST')).toMatchObject({ state: 'waiting' })
    await untilFinished()
  }
  const left = await ask('POST')
  expect((await running.stop()).status).toBe(0)
  running = await startServing(environmentOf(location))
  await untilFinished()
  expect((await ask('GET'))?.requested_at).toBe(left?.requested_at)
  expect((await running.stop()).status).toBe(0)
  await location.remove()
})
