// An SMTP server that does what a table of steps says, also what no server should do.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'

/** `.` is the end of the content, `content` its first bytes. */
export type Step =
  'connect' | 'EHLO' | 'HELO' | 'STARTTLS' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'content' | '.' | 'RSET'

/** A reply (lines, without the last line end), or what happens in its place. */
export type Act = string | ((socket: Socket) => void)

export const drop: Act = (socket) => socket.end()
export const reset: Act = (socket) => socket.resetAndDestroy()
export const silence: Act = () => undefined
/** Writes text without a line end, then ends the connection. */
export const half =
  (text: string): Act =>
  (socket) =>
    socket.end(text)
/** Writes a reply, and ends the connection at once. */
export const leaveAfter =
  (reply: string): Act =>
  (socket) =>
    socket.end(`${reply}\r\n`)

const REPLIES: Readonly<Record<Exclude<Step, 'content'>, Act>> = {
  connect: '220 scripted.test ready',
  EHLO: '250-scripted.test\r\n250-SIZE 100000\r\n250-AUTH PLAIN\r\n250 8BITMIME',
  HELO: '250 scripted.test',
  STARTTLS: '502 5.5.1 no such command',
  AUTH: '235 2.7.0 welcome',
  MAIL: '250 2.1.0 sender ok',
  RCPT: '250 2.1.5 recipient ok',
  DATA: '354 go ahead',
  '.': '250 2.0.0 queued as 1',
  RSET: '250 2.0.0 forgotten',
}

export const EHLO_WITH_PIPELINING: Act = '250-scripted.test\r\n250-PIPELINING\r\n250-AUTH PLAIN\r\n250 8BITMIME'

export interface ScriptedServer {
  readonly port: number
  /** Commands and lines of content, in order, over all connections. */
  readonly lines: string[]
  stop(): Promise<void>
}

/** Steps that are not given have ordinary replies. */
export async function startScriptedServer(steps: Partial<Record<Step, Act>>): Promise<ScriptedServer> {
  const lines: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined)
    converse(socket, { steps, lines })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    lines,
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

interface Script {
  readonly steps: Partial<Record<Step, Act>>
  readonly lines: string[]
}

function converse(socket: Socket, { steps, lines }: Script): void {
  let rest = ''
  let isContent = false
  const act = (step: Step) => {
    const does = steps[step] ?? (step === 'content' ? silence : REPLIES[step])
    if (typeof does === 'function') does(socket)
    else if (socket.writable) socket.write(`${does}\r\n`)
    return does
  }
  const read = (line: string) => {
    lines.push(line)
    const step = line.slice(0, 4).trim().toUpperCase()
    if (isContent) {
      isContent = line !== '.'
      if (!isContent) act('.')
    } else if (step === 'DATA') {
      const does = act('DATA')
      isContent = typeof does === 'string' && does.startsWith('354')
    } else if (step === 'QUIT') socket.end('221 bye\r\n')
    else act(step === 'STAR' ? 'STARTTLS' : (step as Step))
  }
  act('connect')
  socket.on('data', (chunk) => {
    const wasContent = isContent
    const [last = '', ...before] = (rest + chunk.toString('latin1')).split('\r\n').toReversed()
    rest = last
    if (wasContent && steps.content) act('content')
    for (const line of before.toReversed()) read(line)
  })
}
