// The program that `npm run build` made, started as an operator starts it: `bin/tidings` in a process of its own.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { Fault } from '../../src/core/app-error.ts'
import { endWithTests } from './end-with-tests.ts'
import type { TestLocation } from './stores.ts'
import { until } from './server.ts'

export const BIN = inject('builtProgram')
/** Of the processes of one run: a fifth of the processor time of a command is compilation. */
const COMPILE_CACHE = { NODE_COMPILE_CACHE: join(BIN, '../../compile-cache') }

const END_WAIT_MS = 40_000

export type Environment = Readonly<Record<string, string>>

/** How a command ended. */
export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs one command to its end. From this process's environment it gets only the path to programs, and a free port. */
export async function run(args: readonly string[], environment: Environment = {}, bin = BIN): Promise<Ended> {
  const running = start(args, environment, bin)
  return running.ended
}

/** How a command with `--json` ended, with the one object that it printed. */
export interface EndedJson {
  readonly status: number | null
  readonly body: unknown
  readonly stderr: string
}

export async function runJson(args: readonly string[], environment: Environment): Promise<EndedJson> {
  const { status, stdout, stderr } = await run([...args, '--json'], environment)
  return { status, body: JSON.parse(stdout), stderr }
}

/** What a command that failed said with `--json`; undefined for one that did not fail. */
export function failureOf({ status, body }: Pick<EndedJson, 'status' | 'body'>) {
  const { error } = body as { error?: { code: string; message: string; details: Fault[] } }
  return error && { status, code: error.code, message: error.message, fields: error.details.map(({ field }) => field) }
}

/** The environment of a program that uses this store. */
export function environmentOf({ dataDir, databaseUrl }: Pick<TestLocation, 'dataDir' | 'databaseUrl'>): Environment {
  return { DATA_DIR: dataDir, ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }) }
}

/** A program that runs until it is told to end. */
export interface RunningProgram {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** What it has printed so far. */
  output(): { readonly stdout: string; readonly stderr: string }
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Ended>
}

export function start(args: readonly string[], environment: Environment, bin = BIN): RunningProgram {
  const child = spawn(bin, args, {
    env: { PATH: process.env['PATH'] ?? '', PORT: '0', ...(bin === BIN && COMPILE_CACHE), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  endWithTests(child)
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ended = once(child, 'close').then(([status]) => ({ status: status as number | null, stdout, stderr }))
  return {
    child,
    ended,
    output: () => ({ stdout, stderr }),
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      const late = setTimeout(() => child.kill('SIGKILL'), END_WAIT_MS)
      const end = await ended
      clearTimeout(late)
      return end
    },
  }
}

export interface FirstWorkspace {
  readonly workspace_id: string
  readonly data_key: string
  readonly reports_key: string
}

/** What `serve --json` prints once it listens. */
export interface Started {
  readonly url: string
  readonly roles: readonly string[]
  readonly first_workspace?: FirstWorkspace
  /** For the first owner; absent if there are people. */
  readonly setup_url?: string
}

export type ServingProgram = RunningProgram & { readonly started: Started }

/** Starts `serve --json` on a free port and waits until it listens. */
export async function startServing(
  environment: Environment,
  args: readonly string[] = [],
  bin = BIN,
): Promise<ServingProgram> {
  const running = start(['serve', '--json', ...args], { PORT: '0', LOG_LEVEL: 'warn', ...environment }, bin)
  const hasEnded = running.ended.then(({ stderr, stdout }) => {
    throw new Error(`serve ended: ${stdout}${stderr}`)
  })
  const line = until('serve listens', () => running.output().stdout.split('\n', 2)[1] !== undefined)
  await Promise.race([line, hasEnded])
  hasEnded.catch(() => {})
  return { ...running, started: JSON.parse(running.output().stdout) as Started }
}

/** The header by which a request presents a key. */
export function basic(workspaceId: string, key: string): string {
  return `Basic ${Buffer.from(`${workspaceId}:${key}`).toString('base64')}`
}
