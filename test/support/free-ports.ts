// Ports for servers of tests that cannot choose one by themselves.
import { once } from 'node:events'
import { createServer } from 'node:net'

const HOST = '127.0.0.1'
/** Below those that systems give to connections, and to servers that take any: these might be taken before they are used here. */
const FIRST = 10_000
const PORTS = 20_000
/** Test files run as processes side by side; each begins elsewhere. */
const BETWEEN_PROCESSES = 101

let next = (process.pid * BETWEEN_PROCESSES) % PORTS

/** Ports on which nobody listens now, none of which was given before. */
export async function findFreePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  for (let tried = 0; ports.length < count; tried++) {
    if (tried === PORTS) throw new Error(`there are no ${count} free ports from ${FIRST} on`)
    const port = FIRST + next
    next = (next + 1) % PORTS
    if (await isFree(port)) ports.push(port)
  }
  return ports
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen(port, HOST), 'listening')
  } catch {
    return false
  }
  await once(server.close(), 'close')
  return true
}
