// Stands between a store and its database, so that tests can take the database away and give it back.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

const POSTGRES_PORT = 5432

export interface CuttableProxy {
  /** The database's address with this proxy in its place. */
  readonly url: string
  /** Breaks all connections at once, and refuses new ones until `restore`. */
  cut(): void
  /** Keeps connections, and passes on nothing that comes through them from now on, until `cut` or `restore`. */
  hold(): void
  /** Takes new connections again, while nothing ever comes through those that were held, as when another machine took over. */
  takeOver(): void
  restore(): void
  stop(): Promise<void>
}

export async function startProxy(databaseUrl: string): Promise<CuttableProxy> {
  const { hostname, port } = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let state: 'open' | 'held' | 'cut' = 'open'
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    if (state === 'held') socket.pause()
  }
  const server = createServer((client) => {
    if (state === 'cut') {
      client.destroy()
      return
    }
    const database = connect(Number(port === '' ? POSTGRES_PORT : port), hostname)
    client.pipe(database).pipe(client)
    client.on('close', () => database.destroy())
    database.on('close', () => client.destroy())
    keep(client)
    keep(database)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const breakAll = () => sockets.forEach((socket) => socket.destroy())
  return {
    url: url.href,
    cut() {
      state = 'cut'
      breakAll()
    },
    hold() {
      state = 'held'
      sockets.forEach((socket) => socket.pause())
    },
    takeOver() {
      state = 'open'
    },
    restore() {
      state = 'open'
      sockets.forEach((socket) => socket.resume())
    },
    async stop() {
      breakAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
