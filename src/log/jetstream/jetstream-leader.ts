// Confirms that a read came from the stream's leader. When a leader that was cut off from the other servers reaches them again,
// NATS 2.9 puts messages that only it has at the positions of those acknowledged meanwhile, and delivers them to its consumers. By
// then that server no longer leads, and says so.
import { STREAM, type LogStream } from './jetstream-stream.ts'
import { unavailable } from '../unavailable.ts'

/** A server that delivers nothing may lag or be cut off. For this long it counts as the leader without a query. */
const LEADER_CACHED_MS = 1_000

export class StreamLeader {
  readonly #stream: LogStream
  #cached: { readonly server: string | undefined; readonly askedAt: number } = { server: undefined, askedAt: -Infinity }

  constructor(stream: LogStream) {
    this.#stream = stream
  }

  /**
   * Call it when a pull from this server has ended. Rejects with AppError `unavailable` if the server no longer leads, or no server
   * knows the leader; the caller must then discard the messages of the pull.
   */
  async confirm(server: string | undefined, hasDelivered: boolean): Promise<void> {
    // With one replica there is no choice, and servers differ in what they report as the leader.
    if (this.#stream.replicas === 1) return
    const askedAt = performance.now()
    if (!hasDelivered && this.#cached.server === server && askedAt - this.#cached.askedAt < LEADER_CACHED_MS) return
    const { cluster } = await this.#stream.ask(({ streams }) => streams.info(STREAM))
    this.#cached = { server: cluster?.leader, askedAt }
    if (cluster?.leader !== server) throw unavailable('The leader of the log in NATS changed. Retry after 1 second.')
  }
}
