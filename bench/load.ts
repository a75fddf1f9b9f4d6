// One load, in a process of its own: reads what to send from the command line, prints the result as JSON. Sends requests that
// were written out beforehand, except for the time of their events, which has just passed; and reads no more of an answer than
// its status and where it ends: on a machine with two processors, a load that works as hard as the server would measure itself.
import { connect, type Socket } from 'node:net'
import { percentile } from './results.ts'

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
/** How long after the load's end answers to what is in flight may take. */
const LAST_ANSWERS_MS = 10_000
const NOTHING: Buffer = Buffer.alloc(0)
/** Each connection reads answers into one buffer of this size; most are smaller. */
const RECEIVED_BYTES = 4 * 1024
const HEAD_END = '\r\n\r\n'
/** Where an answer has its status: `HTTP/1.1 200 OK`. */
const STATUS_AT = 'HTTP/1.1 '.length
/** As both servers write it. */
const LENGTH = '\r\ncontent-length: '
const TIME_BEGIN = '"user_time":"'
/** The part of a time that is filled in; after it come the milliseconds of the event, counting up within a request. */
const SECOND = 'YYYY-MM-DDThh:mm:ss'

/** A request as bytes, and where the times of its events begin in them. */
interface WrittenRequest {
  readonly bytes: Buffer
  readonly times: readonly number[]
  /** The second of all its events, since the epoch; 0 before the request is first sent. */
  second: number
}

const plan = JSON.parse(process.argv[2] ?? '{}') as LoadPlan
const target = new URL(plan.url)
const requests = Array.from({ length: BODIES }, (_, index) => toRequest(bodyOf(index)))
const latencies: number[] = []
let [sent, succeeded, failed] = [0, 0, 0]

const startedAt = performance.now()
const endsAt = startedAt + plan.seconds * 1000
const tooLate = setTimeout(
  () => {
    throw new Error(`there are answers missing ${LAST_ANSWERS_MS} ms after the end of the load`)
  },
  plan.seconds * 1000 + LAST_ANSWERS_MS,
)
await Promise.all(Array.from({ length: plan.connections }, runConnection))
clearTimeout(tooLate)
const seconds = (performance.now() - startedAt) / 1000
latencies.sort((left, right) => left - right)
const summary: LoadResult = {
  requestsPerSecond: (succeeded + failed) / seconds,
  p50Ms: latencyMs(0.5),
  p99Ms: latencyMs(0.99),
  succeeded,
  failed,
}
process.stdout.write(JSON.stringify(summary))

/** One request after the other until the load's time is over; resolves when the last answer is there. */
function runConnection(): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentAt = 0
    let unread = NOTHING
    const send = (now: number) => {
      if (now >= endsAt) {
        socket.end()
        resolve()
        return
      }
      sentAt = now
      socket.write(toBytes(requests[sent++ % BODIES] as WrittenRequest))
    }
    const receive = (bytes: number, received: Uint8Array) => {
      const chunk = (received as Buffer).subarray(0, bytes)
      const answer = unread.length === 0 ? chunk : Buffer.concat([unread, chunk])
      const status = readStatus(answer)
      // What is received next overwrites the chunk.
      unread = status === undefined ? Buffer.from(answer) : NOTHING
      if (status === undefined) return true
      const now = performance.now()
      latencies.push(now - sentAt)
      if (status === 200) succeeded++
      else failed++
      send(now)
      return true
    }
    const { hostname: host, port } = target
    const onread = { buffer: Buffer.alloc(RECEIVED_BYTES), callback: receive }
    const socket = connect({ host, port: Number(port), noDelay: true, onread })
    socket.on('connect', () => send(performance.now()))
    socket.on('error', reject)
    socket.on('close', () => failUnfinished(socket, reject))
  })
}

/** If a server closes a connection in the middle of a load, the whole bench fails. */
function failUnfinished(socket: Socket, reject: (error: Error) => void): void {
  if (!socket.writableEnded) reject(new Error('the server closed a connection'))
}

/** The status of a complete answer; undefined while something is missing. */
function readStatus(answer: Buffer): number | undefined {
  const text = answer.toString('latin1')
  const headEnd = text.indexOf(HEAD_END)
  if (headEnd < 0) return undefined
  const lengthAt = text.indexOf(LENGTH)
  if (lengthAt < 0 || lengthAt > headEnd) throw new Error(`an answer without length: ${text.slice(0, headEnd)}`)
  const length = Number.parseInt(text.slice(lengthAt + LENGTH.length, headEnd), 10)
  if (text.length < headEnd + HEAD_END.length + length) return undefined
  return Number.parseInt(text.slice(STATUS_AT), 10)
}

/** The bytes to send now, dated whole seconds back, so that no server takes them for the future. */
function toBytes(request: WrittenRequest): Buffer {
  const second = Math.floor(Date.now() / 1000) - 1
  if (request.second !== second) {
    request.second = second
    const text = new Date(second * 1000).toISOString().slice(0, SECOND.length)
    for (const place of request.times) request.bytes.write(text, place, 'latin1')
  }
  return request.bytes
}

function toRequest(body: string): WrittenRequest {
  const head = [
    `POST ${target.pathname} HTTP/1.1`,
    `Host: ${target.host}`,
    `Authorization: ${plan.authorization}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  const text = `${head.join('\r\n')}\r\n\r\n${body}`
  const times = [...text.matchAll(new RegExp(TIME_BEGIN, 'g'))].map(({ index }) => index + TIME_BEGIN.length)
  return { bytes: Buffer.from(text), times, second: 0 }
}

/** Of all latencies, rounded to hundredths of a millisecond. */
function latencyMs(share: number): number {
  return Math.round(percentile(latencies, share) * 100) / 100
}

function bodyOf(index: number): string {
  const actions = Array.from({ length: plan.eventsPerRequest }, (_, place) => ({
    action: 'Order Placed',
    attributes: { amount: place, currency: 'EUR', product: `product-${index}`, first: false },
    platform: 'WEB',
    app_version: '3.1.0',
    user_time: `${SECOND}.${String(place).padStart(3, '0')}Z`,
  }))
  return JSON.stringify({ type: 'event', customer_id: `customer-${index}`, actions })
}
