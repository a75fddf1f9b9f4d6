// When an answer counts as sent on a connection of plain requests: once the system has taken over all of it, and never where
// the connection has ended before.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { PlainConnection, type ShortWay } from '../src/http/shortcut/plain-connection.ts'
import type { PlainHead } from '../src/http/shortcut/plain-head.ts'
import { until } from './server.ts'

const NOTHING = Buffer.alloc(0)
const HEAD: PlainHead<string> = {
  target: 'test',
  method: 'POST',
  url: '/',
  params: {},
  headers: {},
  bodyBytesMax: 1_000,
  before: NOTHING,
  behind: NOTHING,
  known: {},
}
const ANSWER = { text: 'the answer', encoding: 'latin1' } as const
/** More than the system holds of a connection whose other end reads nothing. */
const TOO_MUCH = Buffer.alloc(64 * 1024 * 1024)

/** Takes whatever comes for a whole request, and leaves its answer to the test. */
class Way implements ShortWay<string> {
  readonly asked = Promise.withResolvers<PlainConnection<string>>()
  readonly unanswered: PlainHead<string>[] = []

  read(bytes: Buffer) {
    return { head: HEAD, bodyStart: 0, end: bytes.length }
  }

  answer(connection: PlainConnection<string>): void {
    this.asked.resolve(connection)
  }

  mayWaitFor(): boolean {
    return false
  }

  hold(): boolean {
    return false
  }

  release(): void {}

  giveToNode(): void {}

  forget(_connection: PlainConnection<string>, unanswered: PlainHead<string> | undefined): void {
    if (unanswered) this.unanswered.push(unanswered)
  }
}

let way: Way
let server: Server
let client: Socket
let asked: PlainConnection<string>
let sent: number[]

beforeEach(async () => {
  way = new Way()
  sent = []
  server = createServer((socket) => void new PlainConnection(socket, way)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  client.write('a request')
  asked = await way.asked.promise
})
afterEach(() => {
  client.destroy()
  server.close()
})

function send(): void {
  asked.send(ANSWER, (durationMs) => sent.push(durationMs))
}

it('at once where the system takes over all of it', () => {
  send()
  expect(sent).toEqual([expect.any(Number)])
  expect(asked.state).toBe('waiting')
})

it('later where it has to wait for the other end to read', async () => {
  asked.socket.write(TOO_MUCH)
  send()
  expect(sent).toEqual([])
  expect(asked.state).toBe('answering')
  const received = buffer(client)
  await until('it is sent', () => sent.length > 0)
  expect(asked.state).toBe('waiting')
  asked.socket.end()
  expect((await received).toString('latin1', TOO_MUCH.length)).toBe(ANSWER.text)
})

it('never where the connection has ended meanwhile', async () => {
  asked.socket.write(TOO_MUCH)
  send()
  client.destroy()
  await until('the connection is forgotten', () => way.unanswered.length > 0)
  expect(sent).toEqual([])
})

it('never where it had ended before', async () => {
  asked.socket.destroy()
  send()
  await until('the connection is forgotten', () => way.unanswered.length > 0)
  expect(sent).toEqual([])
})
