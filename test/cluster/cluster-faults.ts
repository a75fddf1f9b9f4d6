// The faults that every cluster must survive, each as a test.
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { expect, it } from 'vitest'
import { LOG_PARTITIONS } from '../../src/log/partition.ts'
import type { Wire } from './cluster.ts'
import type { ClusterTrial } from './cluster-trial.ts'

/** The time for one fault, most of it for the last clients and for checking all data. */
export const FAULT_MS_MAX = 90_000
/** How often each fault strikes; more for a longer trial. */
const ROUNDS = Number(process.env['CLUSTER_ROUNDS'] ?? 1)
const DATABASE_AWAY_MS = 2_000
/** Longer than a lease, than the database waits for an idle transaction, and than a request waits for the log. */
const WIRE_AWAY_MS = 7_500

/** Declares a fault, or several that strike in turn, as a test, once for each round. */
export function itOutlives(name: string, strike: (name: string) => Promise<void>, faults = 1): void {
  const rounds = Array.from({ length: ROUNDS }, (_, round) => (ROUNDS > 1 ? `${name} (${round + 1})` : name))
  const timeout = faults * FAULT_MS_MAX
  it.each(rounds)('survives %s', { timeout }, (round) => expect(strike(round)).resolves.toBeUndefined())
}

/** Kills and stops processes. */
export function declareProcessFaults(trialOf: () => ClusterTrial): void {
  itOutlives('kill -9 of an HTTP process', (name) => {
    const trial = trialOf()
    return trial.outlive({
      name,
      strike: () => trial.pick('http').stop('SIGKILL'),
      afterwards: async () => {
        await trial.cluster.add('http')
        return 'another is started'
      },
    })
  })

  itOutlives('kill -9 of a pipeline process, and shares partitions with one that is added', (name) => {
    const trial = trialOf()
    return trial.outlive({
      name,
      strike: () => trial.pick('pipeline').stop('SIGKILL'),
      afterwards: async () => {
        expect(await trial.cluster.shares()).toEqual([LOG_PARTITIONS])
        await trial.cluster.add('pipeline')
        return trial.untilShared(LOG_PARTITIONS / 2, LOG_PARTITIONS / 2)
      },
    })
  })

  itOutlives('a pipeline process that is stopped past its lease and wakes up', (name) => {
    const trial = trialOf()
    const { child } = trial.pick('pipeline')
    return trial.outlive({
      name,
      strike: () => child.kill('SIGSTOP'),
      afterwards: async () => {
        const shares = await trial.cluster.shares()
        child.kill('SIGCONT')
        expect(shares).toEqual([LOG_PARTITIONS])
        return `woken up, ${await trial.untilShared(LOG_PARTITIONS / 2, LOG_PARTITIONS / 2)}`
      },
    })
  })
}

/** Makes the database unavailable to all processes. */
export function declareDatabaseFaults(trialOf: () => ClusterTrial): void {
  itOutlives('a PostgreSQL that crashes and is started again', (name) => {
    const trial = trialOf()
    return trial.outlive({ name, strike: () => restartDatabase(trial) })
  })
}

/** Cuts the network between parts: packets are dropped, and connections stay open. */
export function declareCuts(
  trialOf: () => ClusterTrial,
  wires: Readonly<Record<string, (trial: ClusterTrial) => Wire>>,
) {
  for (const [name, wireOf] of Object.entries(wires)) {
    itOutlives(`a cut between ${name}`, (what) => {
      const trial = trialOf()
      return trial.outlive({ name: what, strike: () => cutFor(WIRE_AWAY_MS, [wireOf(trial)], (wire) => wire.drop()) })
    })
  }
}

async function restartDatabase({ cluster }: ClusterTrial): Promise<void> {
  const { own, url } = cluster.parts.database
  if (own) {
    await own.crash()
    await pause(DATABASE_AWAY_MS)
    await own.start()
    return
  }
  process.stderr.write('  the server of all tests is not restarted: its connections are ended and refused instead\n')
  const { toDatabase } = cluster.parts
  await cutFor(DATABASE_AWAY_MS, [toDatabase.http, toDatabase.pipeline], async (wire) => {
    await endConnections(url)
    wire.cut()
  })
}

async function cutFor(ms: number, wires: readonly Wire[], cut: (wire: Wire) => Promise<void> | void): Promise<void> {
  for (const wire of wires) await cut(wire)
  await pause(ms)
  for (const wire of wires) wire.mend()
}

async function endConnections(url: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const others = 'datname = current_database() and pid <> pg_backend_pid()'
  await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${others}`)
  await client.end()
}
