// Faults under load in a cluster whose log is in three NATS servers.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { StreamInfo } from '@nats-io/jetstream'
import { openLogStream, STREAM } from '../../src/log/jetstream/jetstream-stream.ts'
import { declareCuts, declareDatabaseFaults, declareProcessFaults, FAULT_MS_MAX, itOutlives } from './cluster-faults.ts'
import { ClusterTrial, seconds } from './cluster-trial.ts'
import { NATS_SERVERS } from './cluster.ts'
import { describeWithNats, type NatsServers } from '../support/nats-servers.ts'
import { until } from '../support/server.ts'
import { describeOnPostgres } from '../support/stores.ts'

const START_MS_MAX = 120_000
/** Servers elect a new leader after four to nine seconds without the old one. */
const REPLICATED_WITHIN_MS = 45_000

describeWithNats('With NATS', () => {
  describeOnPostgres('a cluster with its tables', () => {
    let trial: ClusterTrial

    beforeAll(async () => {
      trial = await ClusterTrial.start('jetstream')
    }, START_MS_MAX)
    afterAll(() => trial.cluster.remove(), START_MS_MAX)

    const strikeEach = async (name: string) => {
      const nats = trial.cluster.parts.nats as NatsServers
      const leader = (await findReplicated(nats)).cluster?.leader ?? ''
      for (const victim of [leader, ...nats.names.filter((other) => other !== leader)]) {
        await trial.outlive({
          name: victim === leader ? `${name}: the leader` : `${name}: another`,
          strike: () => nats.kill(victim),
          afterwards: async () => {
            const startedAt = performance.now()
            await nats.restart(victim)
            await findReplicated(nats)
            return `started again, it has everything after ${seconds(performance.now() - startedAt)}`
          },
        })
      }
    }
    itOutlives('kill -9 of each NATS server in turn, the leader first', strikeEach, NATS_SERVERS)
    declareProcessFaults(() => trial)
    declareDatabaseFaults(() => trial)
    declareCuts(() => trial, {
      'HTTP and NATS': ({ cluster }) => cluster.parts.toLog.http,
      'pipelines and NATS': ({ cluster }) => cluster.parts.toLog.pipeline,
      'pipelines and the database': ({ cluster }) => cluster.parts.toDatabase.pipeline,
    })

    it('has everything in the end, and stops in order', { timeout: FAULT_MS_MAX }, async () => {
      expect(new Set(await trial.end()), 'statuses with which processes ended').toEqual(new Set([0]))
    })
  })
})

/** The stream, once every server has all messages. */
function findReplicated(nats: NatsServers): Promise<StreamInfo> {
  return until('every server has the stream', () => askStream(nats).catch(() => undefined), REPLICATED_WITHIN_MS)
}

async function askStream({ url, names, isHealthy }: NatsServers): Promise<StreamInfo | undefined> {
  const healthy = await Promise.all(names.map(isHealthy))
  if (healthy.includes(false)) return undefined
  const stream = await openLogStream(url)
  try {
    const info = await stream.ask(({ streams }) => streams.info(STREAM))
    const current = info.cluster?.replicas?.filter(({ current, offline, lag }) => current && !offline && !lag) ?? []
    return info.cluster?.leader !== undefined && current.length === names.length - 1 ? info : undefined
  } finally {
    await stream.close()
  }
}
