// The baseline of the bench: a bare Fastify route with the authentication and schema of Track Events, without a store. Prints its
// port when it listens.
import { hash, timingSafeEqual } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { trackEvents } from '../src/operations/events/track-events.ts'

const [user = '', key = ''] = process.argv.slice(2)
const keyHashes = new Map([[user, Buffer.from(hash('sha256', key, 'hex'), 'latin1')]])

const app = Fastify({ ajv: { customOptions: { strict: false, formats: { text: true } } } })
app.route({
  method: 'POST',
  url: trackEvents.url,
  schema: { body: trackEvents.body },
  bodyLimit: trackEvents.bodyBytesMax ?? 0,
  onRequest(request, reply, done) {
    const decoded = Buffer.from((request.headers.authorization ?? '').slice('Basic '.length), 'base64').toString()
    const colon = decoded.indexOf(':')
    const expected = keyHashes.get(decoded.slice(0, colon))
    const given = Buffer.from(hash('sha256', decoded.slice(colon + 1), 'hex'), 'latin1')
    if (expected && timingSafeEqual(expected, given)) done()
    else void reply.code(401).send()
  },
  handler: (request) => ({ status: 'success', message: 'Your request has been accepted.', request_id: request.id }),
})
await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${(app.server.address() as AddressInfo).port}\n`)
