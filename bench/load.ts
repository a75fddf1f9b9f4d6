// One load, in a process of its own: reads what to send from the command line, prints what came of it as JSON.
import autocannon from 'autocannon'

/** What to send; the process gets it as JSON. */
export interface LoadPlan {
  readonly url: string
  readonly authorization: string
  readonly connections: number
  readonly seconds: number
  readonly eventsPerRequest: number
}

export interface LoadResult {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly succeeded: number
  readonly failed: number
}

/** Different customers, so that the pipeline has users to look up. */
const BODIES = 500

const plan = JSON.parse(process.argv[2] ?? '{}') as LoadPlan
const headers = { authorization: plan.authorization, 'content-type': 'application/json' }
const requests = Array.from({ length: BODIES }, (_, index) => ({
  method: 'POST' as const,
  headers,
  body: bodyOf(index),
}))
const result = await autocannon({ url: plan.url, connections: plan.connections, duration: plan.seconds, requests })
const summary: LoadResult = {
  requestsPerSecond: result.requests.average,
  p50Ms: result.latency.p50,
  p99Ms: result.latency.p99,
  succeeded: result['2xx'],
  failed: result.non2xx + result.errors + result.timeouts,
}
process.stdout.write(JSON.stringify(summary))

function bodyOf(index: number): string {
  const actions = Array.from({ length: plan.eventsPerRequest }, (_, place) => ({
    action: 'Order Placed',
    attributes: { amount: place, currency: 'EUR', product: `product-${index}`, first: false },
    platform: 'WEB',
    app_version: '3.1.0',
    user_time: new Date(1_790_000_000_000 + place).toISOString(),
  }))
  return JSON.stringify({ type: 'event', customer_id: `customer-${index}`, actions })
}
