// Requests about senders, for tests.
import { generateKeyPairSync } from 'node:crypto'
import type { Static } from 'typebox'
import type { SenderCheck } from '../../../src/core/senders/sender-check.ts'
import type { WrittenSenderOutput } from '../../../src/operations/senders/sender-body.ts'
import type { CallOptions, TestServer } from '../server.ts'

export const SENDERS_PATH = '/core-services/v1/senders'

export type SenderBody = Static<typeof WrittenSenderOutput>

/** The least that a sender needs. */
export const SENDER = {
  name: 'Newsletter',
  from_email: 'news@shop.example.com',
  from_name: 'The Shop',
  smtp: { host: '127.0.0.1', port: 2525, security: 'none' },
} as const

/** A PEM that Tidings can sign with. */
export function makeDkimKey(type: 'rsa' | 'ed25519' = 'ed25519'): string {
  const pair = type === 'rsa' ? generateKeyPairSync('rsa', { modulusLength: 1024 }) : generateKeyPairSync('ed25519')
  return pair.privateKey.export({ type: 'pkcs8', format: 'pem' })
}

export function senderCallsOf(server: TestServer) {
  const call = <Body = SenderBody>(method: string, path = '', options: CallOptions = {}) => {
    return server.call<Body>(method, SENDERS_PATH + path, { tile: 'reports', ...options })
  }
  return {
    call,
    create: (body: unknown, options: CallOptions = {}) => call('POST', '', { body, ...options }),
    get: (id: string, options: CallOptions = {}) => call('GET', `/${id}`, options),
    change: (id: string, body: unknown, options: CallOptions = {}) => call('PATCH', `/${id}`, { body, ...options }),
    remove: (id: string, options: CallOptions = {}) => call<unknown>('DELETE', `/${id}`, options),
    check: (id: string) => call<{ readonly data: readonly SenderCheck[] }>('POST', `/${id}/check`),
  }
}
