// Finds out whether entries that the stream acknowledges survive a power failure, as far as its servers say.
import type { StreamInfo } from '@nats-io/jetstream'
import { openLogStream, REPLICAS, STREAM, type LogStream } from './jetstream-stream.ts'

export interface DurabilityOptions {
  /** The servers, as for `openLogStream`. */
  readonly url: string
  /** The port on which servers publish their settings over HTTP (`http_port`). */
  readonly monitoringPort?: number
}

/** The port in the documentation of NATS. */
const MONITORING_PORT = 8222
const MONITORING_WAIT_MS = 1_000

/**
 * The warning for operators at the start; undefined if acknowledged entries survive a power failure. A server responds before the
 * message is on its disk, so that takes replicas on other machines, or `sync_interval: always`, from NATS 2.10 on. Servers publish
 * that setting only to their system account, which cannot use JetStream, and on their monitoring port. If that port is closed, as
 * by default, or does not show the setting, as in 2.9, only the number of replicas counts. Three replicas on one machine look like
 * three machines.
 */
export async function findDurabilityWarning(options: DurabilityOptions): Promise<string | undefined> {
  const stream = await openLogStream(options.url)
  try {
    if (stream.replicas >= REPLICAS) return undefined
    const keepers = keepersOf(await stream.ask(({ streams }) => streams.info(STREAM)), stream)
    const syncing = await findSyncing(stream, options.monitoringPort ?? MONITORING_PORT)
    if (keepers.every((keeper) => syncing.has(keeper))) return undefined
    const copies = stream.replicas === 1 ? 'one copy' : `${stream.replicas} copies`
    return `The log stream has ${copies}, and its servers are not known to sync to disk before they respond \
(sync_interval: always). A power failure may lose acknowledged requests. See docs/cluster.md.`
  } finally {
    await stream.close()
  }
}

/** The names of the servers that have a replica. */
function keepersOf({ cluster }: StreamInfo, { connection }: LogStream): string[] {
  const inCluster = [cluster?.leader, ...(cluster?.replicas ?? []).map(({ name }) => name)]
  const names = inCluster.filter((name) => name !== undefined && name !== '') as string[]
  return names.length > 0 ? names : [connection.info?.server_name ?? '']
}

/** The names of the servers that report syncing to disk before they respond. */
async function findSyncing({ connection }: LogStream, port: number): Promise<Set<string>> {
  const hosts = new Set(connection.getServers().map(({ hostname }) => hostname))
  const names = await Promise.all([...hosts].map((host) => findSyncingAt(`http://${host}:${port}/varz`)))
  return new Set(names.filter((name) => name !== undefined))
}

interface ServerSettings {
  readonly server_name?: string
  readonly jetstream?: { readonly config?: { readonly sync_always?: boolean } }
}

async function findSyncingAt(address: string): Promise<string | undefined> {
  try {
    const answer = await fetch(address, { signal: AbortSignal.timeout(MONITORING_WAIT_MS) })
    const settings = (await answer.json()) as ServerSettings
    return settings.jetstream?.config?.sync_always === true ? settings.server_name : undefined
  } catch {
    // The port is closed, or belongs to another program.
    return undefined
  }
}
