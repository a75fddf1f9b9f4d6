// One program that the cluster's script has started, and ends again.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** A server of Tidings gives itself eleven seconds to stop (`src/commands/shutdown.ts`). */
const STOP_WAIT_MS = 15_000

export interface ProgramPlan {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

export interface StartedProgram {
  readonly name: string
  readonly pid: number
  /** The first line on standard output; rejects when it ends without one. */
  readonly firstLine: Promise<string>
  /** How it ended, in words. */
  readonly ended: Promise<string>
  /** Lets it finish, and kills it when that takes too long. */
  stop(): Promise<void>
}

/** What it says on standard error is passed on under its name. Rejects when there is no such program. */
export async function startProgram({ name, command, args, environment }: ProgramPlan): Promise<StartedProgram> {
  const child = spawn(command, args, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    // In a group of its own: Ctrl-C reaches the script alone, which then ends all in order.
    detached: true,
  })
  await once(child, 'spawn')
  createInterface(child.stderr).on('line', (line) => process.stderr.write(`${name} | ${line}\n`))
  const ended = once(child, 'exit').then(([status, signal]) =>
    signal === null ? `with status ${String(status)}` : `by ${String(signal)}`,
  )
  const firstLine = new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once('line', resolve)
    void once(child, 'close').then(() => ended.then((how) => reject(new Error(`${name} ended ${how}.`))))
  })
  // Whoever does not ask for the line need not hear that there is none.
  firstLine.catch(() => {})
  return {
    name,
    pid: child.pid as number,
    firstLine,
    ended,
    async stop() {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_WAIT_MS)
      await ended
      clearTimeout(late)
    },
  }
}
