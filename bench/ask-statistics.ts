// Asks one server for campaign statistics again and again, in a process of its own: reads what to ask from the command line,
// prints how long the answers took as JSON. Bodies take turns, so that every metric and attribution type is asked for equally
// often.
import { Agent, request } from 'node:http'
import { customerIdOf, MONTH } from './population.ts'
import { waitUntilApplied } from './processes.ts'

/** What to ask; the process gets it as JSON. */
export interface AskPlan {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly bodies: readonly string[]
  /** Requests in flight at one time, each on a connection of its own. */
  readonly connections: number
  /** Questions asked before the measurement. */
  readonly warmUps: number
  readonly answers: number
  /** URLs for message events of campaigns; one event is reported to each before every question. If empty, nothing changes. */
  readonly changed: readonly string[]
}

export interface AskResult {
  readonly p50Ms: number
  readonly p99Ms: number
  /** Bytes of the last answer. */
  readonly bytes: number
}

const plan = JSON.parse(process.argv[2] ?? '{}') as AskPlan
let clicks = 0
const agent = new Agent({ keepAlive: true, maxSockets: plan.connections })
await askMany(plan.warmUps)
const asked = await askMany(plan.answers)
agent.destroy()
const times = asked.map(({ ms }) => ms).toSorted((left, right) => left - right)
const result: AskResult = {
  p50Ms: percentile(times, 0.5),
  p99Ms: percentile(times, 0.99),
  bytes: asked.at(-1)?.bytes ?? 0,
}
process.stdout.write(JSON.stringify(result))

interface Asked {
  readonly ms: number
  readonly bytes: number
}

async function askMany(count: number): Promise<Asked[]> {
  const asked: Asked[] = []
  let next = 0
  const askInTurn = async () => {
    while (next < count) {
      const number = next++
      await changeAll()
      asked.push(await ask(plan.bodies[number % plan.bodies.length] as string))
    }
  }
  await Promise.all(Array.from({ length: plan.connections }, askInTurn))
  return asked
}

/** Changes the numbers of every campaign, and waits until they include the change. */
async function changeAll(): Promise<void> {
  if (plan.changed.length === 0) return
  for (const url of plan.changed) await post(url, JSON.stringify({ events: [newClick()] }))
  await waitUntilApplied(new URL(plan.url).origin)
}

/** A click on a message that nobody has reported before, on the last day of the range that is asked for. */
function newClick(): object {
  const time = new Date(Date.parse(`${MONTH.end}T10:00:00Z`) + ++clicks * 1000).toISOString()
  return { customer_id: customerIdOf(clicks), platform: 'IOS', kind: 'click', time, message_id: `changed-${clicks}` }
}

function ask(body: string): Promise<Asked> {
  return post(plan.url, body)
}

/** From the first byte of the request to the last of its answer. */
function post(url: string, body: string): Promise<Asked> {
  const startedAt = performance.now()
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers: plan.headers }, (answer) => {
      let bytes = 0
      answer.on('data', (chunk: Buffer) => (bytes += chunk.length))
      answer.once('error', reject)
      answer.once('end', () => {
        if (answer.statusCode === 200) resolve({ ms: performance.now() - startedAt, bytes })
        else reject(new Error(`answered ${answer.statusCode}`))
      })
    })
    sent.once('error', reject)
    sent.end(body)
  })
}

/** The smallest of the sorted times that this share of them does not exceed. */
function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
}
