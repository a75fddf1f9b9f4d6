// Makes sure that what was read is what the stream's leader has. When a leader that the other servers could not reach finds them
// again, NATS 2.9 puts what it had proposed, and nobody else has, in the places of what was acknowledged meanwhile, and gives it to
// the consumers there. By then that server does not lead any more, and knows it.
import { STREAM, type LogStream } from './jetstream-stream.ts'
import { unavailable } from '../unavailable.ts'

/** A server that gives nothing may lag, or be cut off from the others: how long it counts as the leader without being asked. */
const KNOWN_MS_MAX = 1_000

export class StreamLeader {
  readonly #stream: LogStream
  #known: { readonly server: string | undefined; readonly askedAt: number } = { server: undefined, askedAt: -Infinity }

  constructor(stream: LogStream) {
    this.#stream = stream
  }

  /**
   * Called when a pull from this server has ended. Rejects with AppError `unavailable` when the server no longer leads, or nobody
   * knows; what the pull has brought must then not be believed.
   */
  async confirm(server: string | undefined, hasGiven: boolean): Promise<void> {
    // As for consumers: there is nothing to choose then, and servers differ in what they say about a leader.
    if (this.#stream.replicas === 1) return
    const askedAt = performance.now()
    if (!hasGiven && this.#known.server === server && askedAt - this.#known.askedAt < KNOWN_MS_MAX) return
    const { cluster } = await this.#stream.ask(({ streams }) => streams.info(STREAM))
    this.#known = { server: cluster?.leader, askedAt }
    if (cluster?.leader !== server) throw unavailable('The leader of the log in NATS changed. Retry after 1 second.')
  }
}
