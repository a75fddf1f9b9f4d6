// Whether what the stream acknowledges survives a loss of power, as far as its servers tell.
import type { StreamInfo } from '@nats-io/jetstream'
import { openLogStream, REPLICAS, STREAM, type LogStream } from './jetstream-stream.ts'

export interface DurabilityOptions {
  /** The servers, in the form in which the log is opened. */
  readonly url: string
  /** Where servers show their settings over HTTP (`http_port`). */
  readonly monitoringPort?: number
}

/** The port in the servers' own documentation. */
const MONITORING_PORT = 8222
const MONITORING_WAIT_MS = 1_000

/**
 * What to tell an operator at the start; undefined where a loss of power is survived. A server answers before its disk has
 * the message, so surviving takes copies on other machines, or `sync_interval: always`, which servers know from 2.10 on. They
 * show that setting only to their system account, which cannot use JetStream, and on their monitoring port. Where that port is
 * closed, as it is by default, or does not show the setting, as in 2.9, nobody can tell, and only copies count. Three copies
 * on one machine look like three machines.
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

/** The names of the servers that hold a copy. */
function keepersOf({ cluster }: StreamInfo, { connection }: LogStream): string[] {
  const inCluster = [cluster?.leader, ...(cluster?.replicas ?? []).map(({ name }) => name)]
  const names = inCluster.filter((name) => name !== undefined && name !== '') as string[]
  return names.length > 0 ? names : [connection.info?.server_name ?? '']
}

/** The names of the servers that claim to write to the disk before they answer. */
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
    // The port is closed, or something else answers there: it tells nothing.
    return undefined
  }
}
