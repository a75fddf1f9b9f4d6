// A server in a process of its own, while the clock of its machine is ahead for a moment.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { DAY_MS } from '../../src/core/time-zone.ts'
import { basic, environmentOf, startServing, type FirstWorkspace, type ServingProgram } from '../support/program.ts'
import { until } from '../support/server.ts'
import { makeLocation, type TestLocation } from '../support/stores.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 })

let location: TestLocation
let server: ServingProgram
let aheadFile: string

beforeAll(async () => {
  location = await makeLocation('sqlite')
  const fakeClock = join(location.dataDir, 'clock.mjs')
  aheadFile = join(location.dataDir, 'ahead')
  writeFileSync(
    fakeClock,
    `import { existsSync } from 'node:fs'
     const now = Date.now
     Date.now = () => now() + (existsSync(${JSON.stringify(aheadFile)}) ? ${2 * DAY_MS} : 0)`,
  )
  const NODE_OPTIONS = `--import ${pathToFileURL(fakeClock).href}`
  server = await startServing({ ...environmentOf(location), NODE_OPTIONS })
})
afterAll(async () => {
  await server.stop()
  await location.remove()
})

async function track(customerId: string): Promise<void> {
  const { workspace_id, data_key } = server.started.first_workspace as FirstWorkspace
  const headers = { authorization: basic(workspace_id, data_key), 'content-type': 'application/json' }
  const body = JSON.stringify({ type: 'event', customer_id: customerId, actions: [{ action: 'Opened' }] })
  const answer = await fetch(`${server.started.url}/v1/event/${workspace_id}`, { method: 'POST', headers, body })
  expect(answer.status).toBe(200)
}

/** The time of the only event of a user, once it is applied. */
function timeOf(customerId: string): Promise<number> {
  const { workspace_id, data_key } = server.started.first_workspace as FirstWorkspace
  const headers = { authorization: basic(workspace_id, data_key) }
  return until('the event is applied', async () => {
    const answer = await fetch(`${server.started.url}/v1/event/${workspace_id}?customer_id=${customerId}`, { headers })
    const { data = [] } = (await answer.json()) as { data?: { time: string }[] }
    return data[0] && Date.parse(data[0].time)
  })
}

it('events get the right time again after the clock was ahead for a moment, and one line says so', async () => {
  const startedAt = Date.now()
  await track('before')
  writeFileSync(aheadFile, '')
  await track('ahead')
  rmSync(aheadFile)
  await track('after')
  writeFileSync(aheadFile, '')
  await track('ahead-again')
  rmSync(aheadFile)
  await track('last')
  const times = await Promise.all(['before', 'after', 'last'].map(timeOf))
  for (const time of times) {
    expect(time).toBeGreaterThanOrEqual(startedAt)
    expect(time).toBeLessThanOrEqual(Date.now())
  }
  expect(await timeOf('ahead')).toBeGreaterThan(startedAt + DAY_MS)
  const lines = server
    .output()
    .stderr.split('\n')
    .filter((line) => line.includes('the clock was set back'))
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('the clock was set back by 172800 seconds')
})
