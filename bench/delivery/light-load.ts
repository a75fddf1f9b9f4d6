// A light load of tracked events beside a campaign: fifty requests a second, one event each. Measures how long the answers take.
import type { NewWorkspace } from '../../src/actions/create-workspace.ts'
import { percentile } from '../results.ts'
import { authorizationOf } from '../tracked-workspace.ts'

const EVERY_MS = 20
const CUSTOMERS = 500

interface LightLoad {
  /** Ends it; resolves with the 99th percentile of the latencies in milliseconds. */
  stop(): Promise<number>
}

export function startLightLoad(url: string, workspace: NewWorkspace): LightLoad {
  const latencies: number[] = []
  const running = new Set<Promise<void>>()
  let number = 0
  const headers = { authorization: authorizationOf(workspace), 'content-type': 'application/json' }
  const send = async () => {
    const actions = [{ action: 'Page Viewed', attributes: { page: number }, platform: 'WEB' }]
    const body = JSON.stringify({ type: 'event', customer_id: `customer-${number++ % CUSTOMERS}`, actions })
    const startedAt = performance.now()
    const answer = await fetch(`${url}/v1/event/${workspace.id}`, { method: 'POST', headers, body })
    await answer.arrayBuffer()
    if (!answer.ok) throw new Error(`Track Events answered ${answer.status}`)
    latencies.push(performance.now() - startedAt)
  }
  const timer = setInterval(() => {
    const request = send().finally(() => running.delete(request))
    running.add(request)
  }, EVERY_MS)
  return {
    async stop() {
      clearInterval(timer)
      await Promise.all(running)
      return percentile(
        latencies.toSorted((left, right) => left - right),
        0.99,
      )
    },
  }
}
