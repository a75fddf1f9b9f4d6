// The balancer of `npm run cluster`, in front of small servers that report whether they are ready.
import { once } from 'node:events'
import { createServer, get, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { startBalancer, type Balancer } from '../../deploy/development/balancer.ts'
import { until } from '../support/server.ts'

interface Target {
  readonly name: string
  readonly url: string
  readonly server: Server
  isReady: boolean
  /** How often it reported that it is not ready. */
  refusals: number
}

const targets: Target[] = []
let balancer: Balancer

afterEach(async () => {
  await balancer.stop()
  for (const { server } of targets.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

it('forwards connections to the ready processes in turn', async () => {
  await startTargets('a', 'b')
  await balancer.allReady
  const names = [await ask(), await ask(), await ask(), await ask()]
  expect(names.toSorted()).toEqual(['a', 'a', 'b', 'b'])
  expect(names[0]).not.toBe(names[1])
})

it('skips a process while it is not ready', async () => {
  const [a] = await startTargets('a', 'b')
  await balancer.allReady
  a.isReady = false
  await until('only b answers', async () => (await ask()) === 'b' && (await ask()) === 'b')
  a.isReady = true
  await until('a answers again', async () => (await ask()) === 'a')
  expect([await ask(), await ask()].toSorted()).toEqual(['a', 'b'])
})

it('tries the next process when one refuses a connection', async () => {
  const [a] = await startTargets('a', 'b')
  await balancer.allReady
  a.server.closeAllConnections()
  await once(a.server.close(), 'close')
  expect([await ask(), await ask()]).toEqual(['b', 'b'])
})

it('forwards to any process while none is ready', async () => {
  const [a] = await startTargets('a', 'b')
  await balancer.allReady
  for (const target of targets) target.isReady = false
  await until('no process counts as ready', () => targets.every(({ refusals }) => refusals > 1))
  expect([await ask(), await ask()].toSorted()).toEqual(['a', 'b'])
  expect(a.refusals).toBeGreaterThan(1)
})

it('responds with 503 when no process accepts connections', async () => {
  const [a] = await startTargets('a')
  await balancer.allReady
  a.server.closeAllConnections()
  await once(a.server.close(), 'close')
  expect(await ask()).toBe('503')
})

it('responds with 503 before its first process', async () => {
  balancer = await startBalancer(0)
  expect(await ask()).toBe('503')
})

/** Starts at least one server. Each responds with its name. */
async function startTargets(...names: [string, ...string[]]): Promise<[Target, ...Target[]]> {
  const started = names.map(startTarget)
  await Promise.all(started.map(({ server }) => once(server, 'listening')))
  targets.push(...started.map((target) => Object.assign(target, { url: urlOf(target.server) })))
  balancer = await startBalancer(0)
  balancer.forwardTo(targets.map(({ url }) => url))
  return targets as [Target, ...Target[]]
}

function startTarget(name: string): Target {
  const server = createServer(({ url }, response) => {
    if (url === '/readyz' && !target.isReady) {
      target.refusals++
      response.statusCode = 503
    }
    response.end(name)
  })
  const target = { name, url: '', server: server.listen(0, '127.0.0.1'), isReady: true, refusals: 0 }
  return target
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The name of the server that responds on a new connection; else the status. */
async function ask(): Promise<string> {
  const [answer] = (await once(get(balancer.url, { agent: false }), 'response')) as [
    import('node:http').IncomingMessage,
  ]
  if (answer.statusCode !== 200) answer.resume()
  return answer.statusCode === 200 ? (await answer.toArray()).join('') : String(answer.statusCode)
}
