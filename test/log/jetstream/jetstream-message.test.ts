// Any message under the subjects of the log becomes an entry that every database can store.
import { headers } from '@nats-io/transport-node'
import { expect, it } from 'vitest'
import type { EntryContext, EntryKind, LogEntry } from '../../../src/log/event-log.ts'
import { fromMessage } from '../../../src/log/jetstream/jetstream-message.ts'
import { partitionSubject } from '../../../src/log/jetstream/jetstream-stream.ts'

const UUID = '019a0000-0000-7000-8000-000000000000'
const LONG = 'x'.repeat(1_000)

/** The entry of a message with one header. */
function entryWith(header: string, text: string): LogEntry {
  const fields = headers()
  fields.set(header, text)
  return fromMessage({
    position: 1,
    subject: partitionSubject(3),
    stampedAt: 5,
    headers: fields,
    body: Buffer.from('hello'),
  })
}

/** The entry of a message without headers, with some changes. */
function entryOf(changes: Partial<LogEntry>): LogEntry {
  const read = { position: 1, partition: 3, receivedAt: 5, body: Buffer.from('hello') }
  return { ...read, kind: '' as EntryKind, workspaceId: '', requestId: '', context: {}, ...changes }
}

it.each<[what: string, header: string, text: string, expected: Partial<LogEntry>]>([
  ['a workspace is returned unchanged', 'Workspace', 'main', { workspaceId: 'main' }],
  ['NUL in a workspace is replaced', 'Workspace', 'a\0b', { workspaceId: 'a\ufffdb' }],
  ['a long workspace is cut', 'Workspace', LONG, { workspaceId: LONG.slice(0, 100) }],
  [
    'half a character at the end of a cut workspace is replaced',
    'Workspace',
    `${LONG.slice(1, 100)}😀`,
    { workspaceId: `${LONG.slice(1, 100)}\ufffd` },
  ],
  ['NUL in a kind is replaced', 'Kind', 'a\0b', { kind: 'a\ufffdb' as EntryKind }],
  ['a long kind is cut', 'Kind', LONG, { kind: LONG.slice(0, 100) as EntryKind }],
  ['an id is returned unchanged', 'Request', UUID, { requestId: UUID }],
  ['an id with NUL is dropped', 'Request', 'a\0b', {}],
  ['a long id is dropped', 'Request', LONG, {}],
])('%s', (_what, header, text, expected) => {
  expect(entryWith(`Tidings-${header}`, text)).toEqual(entryOf(expected))
})

it.each<[what: string, text: string, context: EntryContext]>([
  [
    'is returned unchanged',
    '{"ip":"::1","projectCode":"p","campaign":7}',
    { ip: '::1', projectCode: 'p', campaign: 7 },
  ],
  [
    'is returned with a sealed address',
    '{"sealedEmail":{"sealed":"s","key":"k"}}',
    { sealedEmail: { sealed: 's', key: 'k' } },
  ],
  ['is empty if it is not JSON', '{"ip":"::1"', {}],
  ['is empty if it is null', 'null', {}],
  ['is empty if it is a list', '["::1"]', {}],
  ['loses members of wrong types', '{"ip":1,"projectCode":{},"campaign":"7","sealedEmail":"s"}', {}],
  ['loses half an address', '{"campaign":1.5,"sealedEmail":{"sealed":"s","key":1}}', {}],
  ['loses texts that cannot be stored', '{"campaign":7,"ip":"a\\u0000b","projectCode":"\\ud800"}', { campaign: 7 }],
  ['loses an address that cannot be stored', '{"sealedEmail":{"sealed":"s","key":"\\u0000"}}', {}],
  ['loses unknown members', '{"campaign":7,"constructor":1,"toString":"x"}', { campaign: 7 }],
])('a context %s', (_what, text, context) => {
  expect(entryWith('Tidings-Context', text)).toEqual(entryOf({ context }))
})
