// A DNS server on loopback that answers questions for TXT records from a map, so that checks of senders ask a real resolver.
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

const HEADER_BYTES = 12
const TXT = 16
const IN = 1
const TTL_SECONDS = 1
/** Answer, recursion desired and available. */
const ANSWERED = 0x8180
const NAME_ERROR = 3
const SERVER_FAILURE = 2
/** Points to the name in the question. */
const NAME_OF_QUESTION = 0xc00c
const TEXT_BYTES_MAX = 255

export interface DnsServer {
  /** As `dns.setServers` takes it. */
  readonly address: string
  /** Name in lower case → its TXT records; `fail`: the server fails. Other names do not exist. */
  readonly texts: Map<string, readonly string[] | 'fail'>
  stop(): Promise<void>
}

export async function startDnsServer(): Promise<DnsServer> {
  const socket = createSocket('udp4')
  const texts: DnsServer['texts'] = new Map()
  socket.on('message', (question, { port, address }) => socket.send(answer(question, texts), port, address))
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { address: `127.0.0.1:${socket.address().port}`, texts, stop: () => close(socket) }
}

async function close(socket: Socket): Promise<void> {
  socket.close()
  await once(socket, 'close')
}

function answer(question: Buffer, texts: DnsServer['texts']): Buffer {
  const { name, end } = readName(question)
  const isText = question.readUInt16BE(end) === TXT
  const found = isText ? texts.get(name.toLowerCase()) : undefined
  const records = Array.isArray(found) ? (found as readonly string[]) : []
  const code = found === 'fail' ? SERVER_FAILURE : found === undefined ? NAME_ERROR : 0
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt16BE(question.readUInt16BE(0), 0)
  header.writeUInt16BE(ANSWERED | code, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  return Buffer.concat([header, question.subarray(HEADER_BYTES, end + 4), ...records.map(toRecord)])
}

function readName(question: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
    labels.push(question.toString('ascii', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 1 }
}

function toRecord(text: string): Buffer {
  const bytes = Buffer.from(text)
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; at += TEXT_BYTES_MAX) {
    const part = bytes.subarray(at, at + TEXT_BYTES_MAX)
    parts.push(Buffer.from([part.length]), part)
  }
  const data = Buffer.concat(parts)
  const head = Buffer.alloc(12)
  head.writeUInt16BE(NAME_OF_QUESTION, 0)
  head.writeUInt16BE(TXT, 2)
  head.writeUInt16BE(IN, 4)
  head.writeUInt32BE(TTL_SECONDS, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}
