// Measures the latency of Fetch Campaign Stats, in a process of its own: reads its plan from the command line and prints latencies
// as JSON. Servers take turns, so that a slow moment of the machine affects all of them. Bodies take turns too, so that each metric
// and attribution type is requested equally often.
import { Agent, request } from 'node:http'
import { customerIdOf, MONTH } from './population.ts'
import { waitUntilApplied } from './processes.ts'
import { percentile } from './results.ts'

/** The plan, which the process gets as JSON. */
export interface AskPlan {
  readonly servers: readonly AskedServer[]
  /** Concurrent requests, each on a connection of its own. */
  readonly connections: number
  /** Requests to each server before the measurement. */
  readonly warmUps: number
  /** The turns of each server, and the requests in each turn. */
  readonly turns: number
  readonly answersPerTurn: number
}

/** The requests to one server. */
export interface AskedServer {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly bodies: readonly string[]
  /** URLs for message events of campaigns; one event is reported to each before every request. If empty, nothing changes. */
  readonly changed: readonly string[]
}

/** The latencies of one server. */
export interface AskResult {
  readonly p50Ms: number
  readonly p99Ms: number
  /** Bytes of the last answer. */
  readonly bytes: number
}

interface Asked {
  readonly ms: number
  readonly bytes: number
}

const plan = JSON.parse(process.argv[2] ?? '{}') as AskPlan
const agent = new Agent({ keepAlive: true, maxSockets: plan.connections })

/** Sends the requests to one server, and collects their latencies. */
class Questions {
  readonly #server: AskedServer
  readonly asked: Asked[] = []
  #next = 0
  #clicks = 0

  constructor(server: AskedServer) {
    this.#server = server
  }

  async askMany(count: number): Promise<void> {
    const until = this.#next + count
    const askInTurn = async () => {
      while (this.#next < until) {
        const number = this.#next++
        await this.#changeAll()
        const { url, bodies, headers } = this.#server
        this.asked.push(await post(url, bodies[number % bodies.length] as string, headers))
      }
    }
    await Promise.all(Array.from({ length: plan.connections }, askInTurn))
  }

  /** Reports an event to every campaign, and waits until it is applied. */
  async #changeAll(): Promise<void> {
    const { changed, headers, url } = this.#server
    if (changed.length === 0) return
    for (const reports of changed) await post(reports, JSON.stringify({ events: [this.#newClick()] }), headers)
    await waitUntilApplied(new URL(url).origin)
  }

  /** A click on a new message, on the last day of the requested range. */
  #newClick(): object {
    const clicks = ++this.#clicks
    const time = new Date(Date.parse(`${MONTH.end}T10:00:00Z`) + clicks * 1000).toISOString()
    return { customer_id: customerIdOf(clicks), platform: 'IOS', kind: 'click', time, message_id: `changed-${clicks}` }
  }
}

const all = plan.servers.map((server) => new Questions(server))
for (const questions of all) {
  await questions.askMany(plan.warmUps)
  questions.asked.length = 0
}
for (let turn = 0; turn < plan.turns; turn++) for (const questions of all) await questions.askMany(plan.answersPerTurn)
agent.destroy()
process.stdout.write(JSON.stringify(all.map(toResult)))

function toResult({ asked }: Questions): AskResult {
  const times = asked.map(({ ms }) => ms).toSorted((left, right) => left - right)
  return { p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99), bytes: asked.at(-1)?.bytes ?? 0 }
}

/** Measures from the first byte of the request to the last of its answer. */
function post(url: string, body: string, headers: AskedServer['headers']): Promise<Asked> {
  const startedAt = performance.now()
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers }, (answer) => {
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
