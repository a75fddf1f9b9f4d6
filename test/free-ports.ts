// Ports for servers of tests that cannot choose one by themselves.
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

const HOST = '127.0.0.1'

/** Ports on which nobody listens now. All are looked for at once, so that they differ. */
export async function findFreePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, HOST))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}
