// Injects faults into a cluster under load, waits until it has recovered by itself, and checks that everything is stored once.
import { isDeepStrictEqual } from 'node:util'
import { ClusterLoad } from './cluster-load.ts'
import { expectExactlyOnce, expectNothingParked, RESUMED_WITHIN_MS, untilCurrent } from './cluster-outcome.ts'
import { CLUSTER_GOALS } from './cluster-requests.ts'
import { Cluster, type LogKind, type Role } from './cluster.ts'
import type { ServingProgram } from '../support/program.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { until } from '../support/server.ts'

/** The requests that are acknowledged before a fault. */
const WARM_REQUESTS = 30
const WARM_WITHIN_MS = 20_000
/** The time in which a process that starts or resumes gets its share of the partitions. */
const SHARED_WITHIN_MS = 10_000
/** The cluster has recovered when its statistics include requests received this long after the fault. */
const LATER_MS = 1_000

export interface Fault {
  readonly name: string
  /** Injects the fault; resolves when it is over. */
  readonly strike: () => unknown
  /** A step after the recovery, still under load; resolves with its description. */
  readonly afterwards?: () => Promise<string>
}

export class ClusterTrial {
  readonly cluster: Cluster
  readonly #log: LogKind
  readonly #random: () => number
  readonly #loads: ClusterLoad[] = []

  private constructor(cluster: Cluster, log: LogKind, seed: number) {
    this.cluster = cluster
    this.#log = log
    this.#random = seededRandom(seed)
    process.stderr.write(`faults of a cluster, log in ${log}: CLUSTER_SEED=${seed}\n`)
  }

  /** CLUSTER_SEED repeats a trial, as far as concurrent processes allow. */
  static async start(log: LogKind): Promise<ClusterTrial> {
    const seed = Number(process.env['CLUSTER_SEED'] ?? Date.now() % 1_000_000)
    return new ClusterTrial(await Cluster.start(log), log, seed)
  }

  /** One of the running processes with a role. */
  pick(role: Role): ServingProgram {
    const running = this.cluster.running(role)
    return running[Math.floor(this.#random() * running.length)] as ServingProgram
  }

  /** Waits until the partitions are distributed like this; resolves with the time it took. */
  async untilShared(...shares: readonly number[]): Promise<string> {
    const startedAt = performance.now()
    const isShared = async () => isDeepStrictEqual(await this.cluster.shares(), shares)
    await until(`partitions are shared ${shares.join(' to ')}`, isShared, SHARED_WITHIN_MS)
    return `partitions are shared ${shares.join(' to ')} after ${seconds(performance.now() - startedAt)}`
  }

  /** Injects a fault, waits until the cluster has recovered, and prints how long each took. */
  async outlive({ name, strike, afterwards }: Fault): Promise<void> {
    const load = await this.#startLoad(name)
    let told = ''
    try {
      await until('requests are acknowledged', () => load.acknowledged.length > WARM_REQUESTS, WARM_WITHIN_MS)
      await strike()
      const struckAt = performance.now()
      await untilCurrent(this.cluster, Date.now() + LATER_MS)
      await until('a later request is served', () => load.isServedAfter(struckAt), RESUMED_WITHIN_MS)
      told = `current after ${seconds(performance.now() - struckAt)}`
      if (afterwards) told += `; ${await afterwards()}`
    } catch (error) {
      this.#tell(this.cluster.diagnostics())
      throw error
    } finally {
      await load.stop()
    }
    if (process.env['SHOW']) this.#tell(this.cluster.diagnostics())
    this.#tell(`${name}: ${told}; ${load.requests.length} requests, the longest took ${seconds(load.longestWaitMs())}`)
    await this.#expectExactlyOnce([load])
  }

  /** Expects everything that was acknowledged. Returns the exit status of every process that was not killed. */
  async end(): Promise<(number | null)[]> {
    await this.#expectExactlyOnce(this.#loads)
    await expectNothingParked(this.cluster)
    return this.cluster.remove()
  }

  async #expectExactlyOnce(loads: readonly ClusterLoad[]): Promise<void> {
    try {
      await expectExactlyOnce(this.cluster, loads)
    } catch (error) {
      this.#tell(this.cluster.diagnostics())
      throw error
    }
  }

  /** Starts a load with campaigns and users of its own. */
  async #startLoad(name: string): Promise<ClusterLoad> {
    const campaignIds = []
    for (const goals of CLUSTER_GOALS) campaignIds.push(await this.#makeCampaign(goals))
    const { cluster } = this
    const prefix = `${this.#loads.length}-${name.replaceAll(/\W+/g, '-')}`
    const load = new ClusterLoad({ cluster, random: this.#random, name: prefix, campaignIds, now: Date.now() })
    this.#loads.push(load)
    load.start()
    return load
  }

  async #makeCampaign(goals: (typeof CLUSTER_GOALS)[number]): Promise<string> {
    const conversion_goals = goals.map(({ windowHours, ...goal }) => ({ ...goal, window_hours: windowHours }))
    const body = JSON.stringify({ name: 'Summer', platforms: ['EMAIL'], conversion_goals, created_by: 'anna' })
    const answer = await this.cluster.ask('POST', '/core-services/v1/campaigns', { body })
    if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
    return (answer.body as { campaign_id: string }).campaign_id
  }

  #tell(what: string): void {
    process.stderr.write(`  ${this.#log} log, ${what}\n`)
  }
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}
