// What the cluster's script has started, in groups: begun in order, ended in the opposite order, and nothing else is touched.
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

  /** Starts programs side by side, which are also stopped side by side. One that ends by itself is reported. */
  async startGroup(plans: readonly ProgramPlan[]): Promise<readonly StartedProgram[]> {
    const group: Stoppable[] = []
    this.#groups.push(group)
    return Promise.all(
      plans.map(async (plan) => {
        const program = await startProgram(plan)
        group.push(program)
        if (this.isStopping) await program.stop()
        else void program.ended.then((how) => this.#tellOfEnd(program, how))
        return program
      }),
    )
  }

  /** Something of this script's own that is stopped in its turn. */
  add(part: Stoppable): void {
    this.#groups.push([part])
  }

  /** The first call counts; all wait for the end. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll()
    return this.#stopping
  }

  async #stopAll(): Promise<void> {
    for (let group = this.#groups.pop(); group; group = this.#groups.pop()) {
      await Promise.all(group.map((part) => part.stop()))
    }
  }

  #tellOfEnd({ name, pid }: StartedProgram, how: string): void {
    if (!this.isStopping) process.stderr.write(`${name} (process ${pid}) ended ${how}; the others go on.\n`)
  }
}
