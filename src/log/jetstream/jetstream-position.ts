// Sets the first position of the log in JetStream when it continues an embedded log.
import { jetstream } from '@nats-io/jetstream'
import { AppError } from '../../core/app-error.ts'
import { CONTROL_SUBJECT, openLogStream, STREAM, type LogStream } from './jetstream-stream.ts'
import { unavailable } from '../unavailable.ts'

/** How long a control record may be refused, and the pause before it is published again. */
const CONTROL_WAIT_MS = 10_000
const CONTROL_RETRY_MS = 250

/**
 * See `continueAfter`. A stream that is purged up to a sequence number that it has not reached begins there, with every version of
 * JetStream; creating a stream with a first sequence number needs 2.10. The control record published afterwards verifies it.
 */
export async function continueStreamAfter(url: string, position: number): Promise<void> {
  const stream = await openLogStream(url)
  try {
    const { state } = await stream.ask(({ streams }) => streams.info(STREAM))
    if (state.last_seq < position) {
      await stream.ask(({ streams }) => streams.purge(STREAM, { seq: position + 1 }))
    }
    const reached = await publishControl(stream)
    if (reached > position) return
    throw unavailable(`The stream ${STREAM} is at position ${reached} and cannot be moved past ${position}.`)
  } finally {
    await stream.close()
  }
}

/** Retries: after such a purge the leader of a replicated stream refuses the first message as out of date. */
async function publishControl(stream: LogStream): Promise<number> {
  const deadline = performance.now() + CONTROL_WAIT_MS
  for (;;) {
    try {
      return (await stream.ask(() => jetstream(stream.connection).publish(CONTROL_SUBJECT))).seq
    } catch (error) {
      if (!(error instanceof AppError) || performance.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, CONTROL_RETRY_MS))
    }
  }
}
