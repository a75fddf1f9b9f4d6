// Checks that the log accepts only streams that store acknowledged messages until it trims them.
import { DiscardPolicy, RetentionPolicy, StorageType } from '@nats-io/jetstream'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { ALL_SUBJECTS, openLogStream, STREAM, type LogStream } from '../../../src/log/jetstream/jetstream-stream.ts'
import { describeWithNats, startNatsServers, type NatsServers } from '../../support/nats-servers.ts'

describeWithNats('A stream that others have made', () => {
  let servers: NatsServers
  let stream: LogStream

  beforeAll(async () => {
    servers = await startNatsServers()
  })
  beforeEach(async () => {
    stream = await openLogStream(servers.url)
    await stream.ask(({ streams }) => streams.delete(STREAM))
  })
  afterEach(async () => {
    await stream.ask(({ streams }) => streams.delete(STREAM))
    await stream.close()
  })
  afterAll(() => servers.remove())

  it.each([
    [{ storage: StorageType.Memory }, /does not use file storage/],
    [{ retention: RetentionPolicy.Interest }, /deletes messages after they are read/],
    [{ max_age: 3_600e9 }, /discards old messages/],
    [{ max_msgs: 5, discard: DiscardPolicy.Old }, /discards old messages/],
    [{ max_bytes: 5_000_000, discard: DiscardPolicy.Old }, /discards old messages/],
    [{ max_msgs_per_subject: 5 }, /discards old messages/],
    [{ subjects: ['tidings.log.1'] }, /does not include the subjects/],
    [{ max_msg_size: 1_000 }, /at most 1000 bytes/],
  ])('is refused as the log if it would lose entries: %o', async (config, reason) => {
    const subjects = [ALL_SUBJECTS]
    await stream.ask(({ streams }) => streams.add({ name: STREAM, subjects, ...config }))
    const opening = openLogStream(servers.url)
    await expect(opening).rejects.toThrow(reason)
  })

  it.each([
    [{ max_msgs: 5, max_bytes: 5_000_000, discard: DiscardPolicy.New }],
    [{ subjects: ['tidings.log.>'] }],
    [{ max_msg_size: 1024 * 1024 }],
  ])('is accepted as the log if it would lose none: %o', async (config) => {
    const subjects = [ALL_SUBJECTS]
    await stream.ask(({ streams }) => streams.add({ name: STREAM, subjects, ...config }))
    const opened = await openLogStream(servers.url)
    await opened.close()
    expect(opened.replicas).toBe(1)
  })
})
