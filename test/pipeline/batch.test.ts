// Checks how entries of the log are read with the current settings of their workspace.
import { expect, it } from 'vitest'
import { toJsonNumber } from '../../src/core/json/exact-number.ts'
import { EVENTS_PER_ENTRY_MAX } from '../../src/core/event.ts'
import { DEFAULT_SETTINGS, type EmailProtection } from '../../src/core/workspace.ts'
import type { LogEntry } from '../../src/log/event-log.ts'
import { toBatch } from '../../src/pipeline/batch.ts'

const entryOf = (body: object, context: LogEntry['context'] = {}): LogEntry => ({
  position: 1,
  kind: 'track_user',
  workspaceId: 'main',
  requestId: 'r1',
  receivedAt: 1,
  context,
  body: Buffer.from(JSON.stringify(body)),
})

const readUser = (emailProtection: EmailProtection, attributes: object, context: LogEntry['context'] = {}) => {
  const settings = { ...DEFAULT_SETTINGS, name: 'main', emailProtection }
  const entry = entryOf({ type: 'customer', customer_id: 'c1', attributes }, context)
  const [read] = toBatch([entry], new Map([['main', settings]]), { now: 1 }).entries
  return read?.kind === 'track_user' ? read.users[0] : undefined
}

const sealedEmail = { sealed: 'v1.sealed', key: 'hash' }

it.each([
  [
    'is stored as sent and found by its normalised form',
    'none',
    { email: ' A@b.c ' },
    {},
    { email: ' A@b.c ' },
    'a@b.c',
  ],
  ['is cleared by null', 'none', { email: null }, {}, { email: null }, null],
  ['stays as it is when not sent', 'none', { plan: 'x' }, {}, { plan: 'x' }, undefined],
  ['stays as it is when empty', 'none', { email: '', plan: 'x' }, {}, { plan: 'x' }, undefined],
  ['stays as it is when empty where encrypted', 'encrypted', { email: '' }, {}, {}, undefined],
  ['is stored sealed', 'encrypted', { plan: 'x' }, { sealedEmail }, { plan: 'x', email: 'v1.sealed' }, 'hash'],
  ['is cleared by null where encrypted', 'encrypted', { email: null }, {}, { email: null }, null],
  [
    'is dropped if it was sealed and encryption has ended',
    'none',
    { plan: 'x' },
    { sealedEmail },
    { plan: 'x' },
    undefined,
  ],
  [
    'is dropped if it was sealed and tokenization has replaced encryption',
    'tokenized',
    {},
    { sealedEmail },
    {},
    undefined,
  ],
  [
    'is dropped if encryption began after the request',
    'encrypted',
    { email: 'a@b.c', plan: 'x' },
    {},
    { plan: 'x' },
    undefined,
  ],
  ['is dropped if tokenization began after the request', 'tokenized', { email: 'a@b.c' }, {}, {}, undefined],
] as const)('an address %s', (_rule, protection, sent, context, attributes, emailKey) => {
  expect(readUser(protection, sent, context)).toMatchObject({ attributes, emailKey })
  expect(Object.keys(readUser(protection, sent, context)?.attributes ?? {}).toSorted()).toEqual(
    Object.keys(attributes).toSorted(),
  )
})

it('a mobile number with many digits is stored as the text that was validated', () => {
  const mobile = toJsonNumber('4917012345678.0000000000001')
  expect(readUser('none', { mobile })).toMatchObject({ attributes: { mobile: '4917012345678' } })
})

it.each([
  ['a stored address', 'none', { email: 'a@b.c' }, {}, false],
  ['no address', 'tokenized', { plan: 'x' }, {}, false],
  ['a sealed address', 'encrypted', {}, { sealedEmail }, false],
  ['a sealed address that can no longer be opened', 'none', {}, { sealedEmail }, true],
  ['an address sent before encryption', 'encrypted', { email: 'a@b.c' }, {}, true],
  ['an address sent before tokenization', 'tokenized', { email: 'a@b.c' }, {}, true],
] as const)('a batch records whether it dropped %s', (_rule, protection, sent, context, isEmailDropped) => {
  expect(readUser(protection, sent, context)).toMatchObject({ isEmailDropped })
})

it.each([
  ['track_events', 'actions', { action: 'A' }],
  ['svc_message_events', 'events', { customer_id: 'c1', platform: 'WEB', type: 'sent', time: 1_000 }],
  ['svc_audience', 'members', { customer_id: 'c1', platform: 'WEB', evaluated_at: 1_000, group: 'target' }],
] as const)('a batch refuses an entry of kind %s with more items than its numbers allow', (kind, list, item) => {
  const read = (items: number) => {
    const body = { customer_id: 'c1', [list]: Array.from({ length: items }, () => item) }
    const entry = { ...entryOf(body, { campaign: 1 }), kind }
    return toBatch([entry], new Map([['main', { ...DEFAULT_SETTINGS, name: 'main' }]]), { now: 1 })
  }
  expect(read(EVENTS_PER_ENTRY_MAX).unreadable).toEqual([])
  expect(read(EVENTS_PER_ENTRY_MAX + 1)).toMatchObject({
    entries: [],
    unreadable: [{ reason: `the entry has more than ${EVENTS_PER_ENTRY_MAX} items` }],
  })
})
