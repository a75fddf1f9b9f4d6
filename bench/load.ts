// Sends one load, in a process of its own: reads its plan from the command line and prints the result as JSON. Requests are
// serialised in advance, except for the times of their events; of an answer it reads only the status and the length. On a machine
// with two processors, a load generator that worked as hard as the server would measure itself.
import { connect, type Socket } from 'node:net'
import { percentile } from './results.ts'

/** The plan, which the process gets as JSON. */
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
/** How long the last answers may take after the end of the load. */
const LAST_ANSWERS_MS = 10_000
const NOTHING: Buffer = Buffer.alloc(0)
/** The read buffer of each connection; most answers are smaller. */
const RECEIVED_BYTES = 4 * 1024
const HEAD_END = '\r\n\r\n'
/** The offset of the status in an answer: `HTTP/1.1 200 OK`. */
const STATUS_AT = 'HTTP/1.1 '.length
/** The spelling of both servers. */
const LENGTH = '\r\ncontent-length: '
const TIME_BEGIN = '"user_time":"'
/** The part of a time that is filled in before sending. The milliseconds after it count up within a request. */
const SECOND = 'YYYY-MM-DDThh:mm:ss'

/** A request as bytes, and the offsets of the times of its events. */
interface WrittenRequest {
  readonly bytes: Buffer
  readonly times: readonly number[]
  /** The time of its events in seconds since the epoch; 0 before the request is first sent. */
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

/** Sends one request after the other until the load ends; resolves with the last answer. */
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
      // Copies an incomplete answer, because the next chunk overwrites the buffer.
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

/** Fails the bench if a server closes a connection during the load. */
function failUnfinished(socket: Socket, reject: (error: Error) => void): void {
  if (!socket.writableEnded) reject(new Error('the server closed a connection'))
}

/** The status of a complete answer; undefined while it is incomplete. */
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

/** The bytes to send now, with the time of the previous second, so that no server rejects events of the future. */
function toBytes(request: WrittenRequest): Buffer {
  const second = Math.floor(Date.now() / 1000) - 1
  if (request.second !== second) {
    request.second = second
    const text = new Date(second * 1000).toISOString().slice(0, SECOND.length)
    for (const offset of request.times) request.bytes.write(text, offset, 'latin1')
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

/** A percentile of all latencies, rounded to hundredths of a millisecond. */
function latencyMs(share: number): number {
  return Math.round(percentile(latencies, share) * 100) / 100
}

function bodyOf(index: number): string {
  const actions = Array.from({ length: plan.eventsPerRequest }, (_, number) => ({
    action: 'Order Placed',
    attributes: { amount: number, currency: 'EUR', product: `product-${index}`, first: false },
    platform: 'WEB',
    app_version: '3.1.0',
    user_time: `${SECOND}.${String(number).padStart(3, '0')}Z`,
  }))
  return JSON.stringify({ type: 'event', customer_id: `customer-${index}`, actions })
}
