// Asks servers for campaign statistics again and again, in a process of its own: reads what to ask from the command line, prints
// how long the answers took as JSON. The servers take turns, so that one that is asked while the machine is slow is not compared
// with one that is asked while it is fast. Bodies take turns too, so that every metric and attribution type is asked for equally
// often.
import { Agent, request } from 'node:http'
import { customerIdOf, MONTH } from './population.ts'
import { waitUntilApplied } from './processes.ts'
import { percentile } from './results.ts'

/** What to ask; the process gets it as JSON. */
export interface AskPlan {
  readonly servers: readonly AskedServer[]
  /** Requests in flight at one time, each on a connection of its own. */
  readonly connections: number
  /** Questions that each server is asked before the measurement. */
  readonly warmUps: number
  /** How many turns each server has, and how many questions it is asked in each. */
  readonly turns: number
  readonly answersPerTurn: number
}

/** What to ask one server. */
export interface AskedServer {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly bodies: readonly string[]
  /** URLs for message events of campaigns; one event is reported to each before every question. If empty, nothing changes. */
  readonly changed: readonly string[]
}

/** Of one server. */
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

/** Remembers what was asked of one server. */
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

  /** Changes the numbers of every campaign, and waits until they include the change. */
  async #changeAll(): Promise<void> {
    const { changed, headers, url } = this.#server
    if (changed.length === 0) return
    for (const reports of changed) await post(reports, JSON.stringify({ events: [this.#newClick()] }), headers)
    await waitUntilApplied(new URL(url).origin)
  }

  /** A click on a message that nobody has reported before, on the last day of the range that is asked for. */
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

/** From the first byte of the request to the last of its answer. */
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
