// Sets where the log in JetStream begins when it continues another.
import { jetstream } from '@nats-io/jetstream'
import { AppError } from '../../core/app-error.ts'
import { CONTROL_SUBJECT, openLogStream, STREAM, type LogStream } from './jetstream-stream.ts'
import { unavailable } from '../unavailable.ts'

/** How long a mark may be refused, and the pause before it is published again. */
const MARK_WAIT_MS = 10_000
const MARK_AGAIN_MS = 250

/**
 * See `continueBehind`. A stream that is purged up to a sequence number that it has not reached yet begins there, on every
 * server that has JetStream; making a stream with a first sequence number would need 2.10. The mark that is published
 * afterwards shows that it worked.
 */
export async function continueStreamBehind(url: string, position: number): Promise<void> {
  const stream = await openLogStream(url)
  try {
    const { state } = await stream.ask(({ streams }) => streams.info(STREAM))
    if (state.last_seq < position) {
      await stream.ask(({ streams }) => streams.purge(STREAM, { seq: position + 1 }))
    }
    const marked = await mark(stream)
    if (marked > position) return
    throw unavailable(`The stream ${STREAM} is at position ${marked} and cannot be moved past ${position}.`)
  } finally {
    await stream.close()
  }
}

/** Tries again: after such a purge the leader of a replicated stream refuses the first message, taking it for an older one. */
async function mark(stream: LogStream): Promise<number> {
  const deadline = performance.now() + MARK_WAIT_MS
  for (;;) {
    try {
      return (await stream.ask(() => jetstream(stream.connection).publish(CONTROL_SUBJECT))).seq
    } catch (error) {
      if (!(error instanceof AppError) || performance.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, MARK_AGAIN_MS))
    }
  }
}
