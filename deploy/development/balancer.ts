// A small balancer for development: hands each connection to the next process that is ready or, while none is, to any, which says
// why. Several machines want a real one (`deploy/haproxy.cfg`).
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const HOST = '127.0.0.1'
const LOOK_EVERY_MS = 500
/** Longer than a process waits for its own store and log. */
const LOOK_WAIT_MS = 3_000

const NOBODY_IS_THERE = [
  'HTTP/1.1 503 Service Unavailable',
  'Retry-After: 1',
  'Content-Length: 0',
  'Connection: close',
  '\r\n',
].join('\r\n')

export interface Balancer {
  readonly url: string
  /**
   * Who takes connections from now on: the addresses of processes, such as `http://127.0.0.1:8081`. Until then the answer is 503.
   */
  handTo(targets: readonly string[]): void
  /** Resolves when all processes are ready. */
  readonly allReady: Promise<void>
  /** Takes no more connections; those that are there end with the processes behind them. */
  stop(): Promise<void>
}

/** Rejects when the port is taken. */
export async function startBalancer(port: number): Promise<Balancer> {
  const all = new Set<string>()
  const ready = new Set<string>()
  const everybody = Promise.withResolvers<void>()
  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.on('error', () => client.destroy())
    const wanted = ready.size > 0 ? ready : all
    void handOver(client, nextFirst(wanted), (target) => ready.delete(target))
  })
  server.listen(port, HOST)
  await once(server, 'listening')
  const stopping = new AbortController()
  const watch = async (target: string) => {
    while (!stopping.signal.aborted) {
      if (await isReady(target)) ready.add(target)
      else ready.delete(target)
      if (ready.size === all.size) everybody.resolve()
      await pause(LOOK_EVERY_MS, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
    }
  }
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    handTo(targets) {
      for (const target of targets) all.add(target)
      for (const target of targets) void watch(target)
    },
    allReady: everybody.promise,
    async stop() {
      stopping.abort()
      server.close()
    },
  }
}

/** All of them, beginning with the one whose turn it is, which is last the next time. */
function nextFirst(targets: Set<string>): readonly string[] {
  const inTurn = [...targets]
  const [first] = inTurn
  if (first !== undefined) {
    targets.delete(first)
    targets.add(first)
  }
  return inTurn
}

/** Hands over to the first that takes the connection; one that does not is out until it is found ready again. */
async function handOver(
  client: Socket,
  targets: readonly string[],
  onRefused: (target: string) => void,
): Promise<void> {
  for (const target of targets) {
    const { hostname, port } = new URL(target)
    const process = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    try {
      await once(process, 'connect')
    } catch {
      onRefused(target)
      continue
    }
    process.on('error', () => process.destroy())
    process.on('close', () => client.destroySoon())
    client.on('close', () => process.destroySoon())
    client.pipe(process).pipe(client)
    return
  }
  client.end(NOBODY_IS_THERE)
}

async function isReady(target: string): Promise<boolean> {
  try {
    const answer = await fetch(`${target}/readyz`, { signal: AbortSignal.timeout(LOOK_WAIT_MS) })
    await answer.body?.cancel()
    return answer.ok
  } catch {
    return false
  }
}
