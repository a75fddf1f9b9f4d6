// A small TCP balancer for development. It forwards each connection to the next process that is ready; while none is, to any
// process, which says why. Production uses a real one (`deploy/haproxy.cfg`).
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { listenAt } from '../../src/app/machine-faults.ts'

const HOST = '127.0.0.1'
const CHECK_EVERY_MS = 500
/** Longer than a process waits for its store and log. */
const CHECK_WAIT_MS = 3_000

const NO_PROCESS = [
  'HTTP/1.1 503 Service Unavailable',
  'Retry-After: 1',
  'Content-Length: 0',
  'Connection: close',
  '\r\n',
].join('\r\n')

export interface Balancer {
  readonly url: string
  /** Adds the addresses of processes, such as `http://127.0.0.1:8081`. Without any the response is 503. */
  forwardTo(targets: readonly string[]): void
  /** Resolves when all processes are ready. */
  readonly allReady: Promise<void>
  /** Accepts no more connections. Existing ones end with their processes. */
  stop(): Promise<void>
}

/** Rejects with ConfigError if the port cannot be used. */
export async function startBalancer(port: number): Promise<Balancer> {
  const all = new Set<string>()
  const ready = new Set<string>()
  const allReady = Promise.withResolvers<void>()
  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.on('error', () => client.destroy())
    const candidates = ready.size > 0 ? ready : all
    void forward(client, rotate(candidates), (target) => ready.delete(target))
  })
  await listenAt({ host: HOST, port }, async (address) => {
    await once(server.listen(address), 'listening')
  })
  const stopping = new AbortController()
  const watch = async (target: string) => {
    while (!stopping.signal.aborted) {
      if (await isReady(target)) ready.add(target)
      else ready.delete(target)
      if (ready.size === all.size) allReady.resolve()
      await pause(CHECK_EVERY_MS, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
    }
  }
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    forwardTo(targets) {
      for (const target of targets) all.add(target)
      for (const target of targets) void watch(target)
    },
    allReady: allReady.promise,
    async stop() {
      stopping.abort()
      server.close()
    },
  }
}

/** All targets, from the first on. Moves the first to the end for the next call. */
function rotate(targets: Set<string>): readonly string[] {
  const inOrder = [...targets]
  const [first] = inOrder
  if (first !== undefined) {
    targets.delete(first)
    targets.add(first)
  }
  return inOrder
}

/** Forwards to the first target that accepts the connection. Reports each that refuses it. */
async function forward(client: Socket, targets: readonly string[], onRefused: (target: string) => void): Promise<void> {
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
  client.end(NO_PROCESS)
}

async function isReady(target: string): Promise<boolean> {
  try {
    const response = await fetch(`${target}/readyz`, { signal: AbortSignal.timeout(CHECK_WAIT_MS) })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}
