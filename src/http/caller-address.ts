// The caller's own address: of the connection, or what trusted proxies say of it in X-Forwarded-For.
import type { FastifyRequest } from 'fastify'
import { toForwardedAddress } from '../operations/forwarded-address.ts'

/**
 * Without what a proxy writes around an address, such as the port: each connection has another. An entry that is no address
 * says nothing of the caller, for whom the nearest proxy that is known then stands.
 */
export function callerAddress({ ip, ips }: FastifyRequest): string {
  // No proxy is trusted, or none has said anything.
  if (ips === undefined || ips.length === 1) return ip
  const [peer = ip, ...forwarded] = ips
  return forwarded.map(toForwardedAddress).findLast((address) => address !== undefined) ?? peer
}
