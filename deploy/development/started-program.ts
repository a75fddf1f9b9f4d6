// Starts and stops one program of a development cluster.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** Tidings takes up to eleven seconds to stop (`src/commands/shutdown.ts`). */
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
  /** The first line on standard output. Rejects if the program ends without one. */
  readonly firstLine: Promise<string>
  /** Resolves with how the program ended, in words. */
  readonly ended: Promise<string>
  /** Asks the program to stop, and kills it if that takes too long. */
  stop(): Promise<void>
}

/** Prefixes the lines of its standard error with its name. Rejects if the program does not exist. */
export async function startProgram({ name, command, args, environment }: ProgramPlan): Promise<StartedProgram> {
  const child = spawn(command, args, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    // In a process group of its own: Ctrl-C reaches only the script, which then stops everything in order.
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
  // Not every caller waits for the line.
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
