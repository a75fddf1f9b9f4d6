// The programs of a development cluster, in groups that start in order and stop in reverse order. It stops nothing that it did not
// start.
import { startProgram, type ProgramPlan, type StartedProgram } from './started-program.ts'

interface Stoppable {
  stop(): Promise<void>
}

export class RunningCluster {
  readonly #groups: Stoppable[][] = []
  #stopping: Promise<void> | undefined

  get isStopping(): boolean {
    return this.#stopping !== undefined
  }

  /** Starts programs concurrently, as one group. Reports a program that ends by itself. */
  async startGroup(plans: readonly ProgramPlan[]): Promise<readonly StartedProgram[]> {
    const group: Stoppable[] = []
    this.#groups.push(group)
    return Promise.all(
      plans.map(async (plan) => {
        const program = await startProgram(plan)
        group.push(program)
        if (this.isStopping) await program.stop()
        else void program.ended.then((how) => this.#reportEnd(program, how))
        return program
      }),
    )
  }

  /** Adds a part of this script, as a group. Throws if the cluster is stopping: the caller must not make the part then. */
  add(part: Stoppable): void {
    if (this.isStopping) throw new Error('The cluster is stopping.')
    this.#groups.push([part])
  }

  /** Stops all groups. Further calls wait for the first. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll()
    return this.#stopping
  }

  async #stopAll(): Promise<void> {
    for (let group = this.#groups.pop(); group; group = this.#groups.pop()) {
      await Promise.all(group.map((part) => part.stop()))
    }
  }

  #reportEnd({ name, pid }: StartedProgram, how: string): void {
    if (!this.isStopping) process.stderr.write(`${name} (process ${pid}) ended ${how}; the others continue.\n`)
  }
}
