// Finds wrong settings that only the machine can tell: an address it cannot listen on, a folder it cannot write. Changes nothing.
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Fault } from '../core/app-error.ts'
import { codeOf } from '../core/thrown.ts'
import { isEmbedded } from '../log/open-log.ts'
import { ConfigError, type Config } from './config.ts'
import { findDataDirFaults } from './data-dir.ts'

export interface MachineChecks {
  /** Whether the process will listen on HOST and PORT. */
  readonly listens: boolean
  /** The settings that are invalid already: in their place `config` has defaults, which nobody chose. */
  readonly invalid?: ReadonlySet<string>
}

/** Every fault at once. */
export async function findMachineFaults(config: Config, checks: MachineChecks): Promise<readonly Fault[]> {
  const { listens, invalid = new Set() } = checks
  // Any port shows whether the machine has the address.
  const address = invalid.has('PORT') ? { ...config, port: 0 } : config
  const isStoreKnown = !invalid.has('DATABASE_URL')
  return [
    ...(listens && !invalid.has('HOST') ? await findListenFaults(address) : []),
    ...(isEmbedded(config) && isStoreKnown ? findDataDirFaults(config.dataDir) : []),
  ]
}

type Address = Pick<Config, 'host' | 'port'>

/** What `listen` would refuse, found before anything changes. */
async function findListenFaults(address: Address): Promise<readonly Fault[]> {
  const probe = createServer((socket) => socket.destroy())
  try {
    await listenAt(address, async (resolved) => {
      await once(probe.listen(resolved), 'listening')
    })
  } catch (error) {
    if (error instanceof ConfigError) return error.faults
    throw error
  }
  await once(probe.close(), 'close')
  return []
}

/** Why the server cannot listen, by the code of the system's error. */
const LISTEN_PROBLEMS: Readonly<Record<string, (address: Address) => Fault>> = {
  EADDRINUSE: ({ host, port }) => ({ field: 'PORT', problem: `${port} is in use on ${host}; choose another port` }),
  EACCES: ({ port }) => ({ field: 'PORT', problem: `${port} needs permissions that this user does not have` }),
  EADDRNOTAVAIL: ({ host }) => ({ field: 'HOST', problem: `${host} is not an address of this machine` }),
  EINVAL: ({ host }) => ({ field: 'HOST', problem: `${host} is not an address to listen on` }),
  ENOTFOUND: ({ host }) => ({ field: 'HOST', problem: `${host} is an unknown host` }),
  EAI_AGAIN: ({ host }) => ({ field: 'HOST', problem: `${host} cannot be resolved` }),
}

/**
 * Listens on one address, even if a name has several: for each further address of `localhost`, Fastify would create a server
 * without our limits. Throws ConfigError if another port or host would help.
 */
export async function listenAt(
  { host, port }: Address,
  listenOn: (address: { readonly host: string; readonly port: number }) => Promise<unknown>,
): Promise<void> {
  try {
    const { address } = await lookup(host, { order: 'ipv4first' })
    await listenOn({ host: address, port })
  } catch (error) {
    const problem = LISTEN_PROBLEMS[codeOf(error) ?? '']
    throw problem ? new ConfigError([problem({ host, port })]) : error
  }
}
