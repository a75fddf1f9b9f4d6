// Starts, measures and stops the processes of a bench.
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import type { LoadPlan, LoadResult } from './load.ts'

const START_WAIT_MS = 20_000

export interface StartedProcess {
  readonly child: ChildProcess
  /** The first line it printed. */
  readonly firstLine: string
}

/**
 * Starts a script or a source file of this project and waits for its first line of output. If the process ends before that or takes
 * too long, kills it and rejects.
 */
export async function startProcess(
  file: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<StartedProcess> {
  const path = new URL(file, import.meta.url).pathname
  const [command, before] = file.endsWith('.ts') ? [process.execPath, [path]] : [path, []]
  const child = spawn(command, [...before, ...args], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  try {
    const ready = once(child.stdout, 'data', { signal: AbortSignal.timeout(START_WAIT_MS) })
    const [chunk] = (await Promise.race([ready, ended.then(() => [])])) as [Buffer?]
    if (!chunk) throw new Error('it ended')
    child.stdout.resume()
    return { child, firstLine: chunk.toString().split('\n')[0] ?? '' }
  } catch (cause) {
    child.kill('SIGKILL')
    await ended
    throw new Error(`${file} was not ready within ${START_WAIT_MS} ms`, { cause })
  }
}

/** Stops a process; resolves when it has ended. */
export async function stopProcess({ child }: StartedProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

/** Runs a load in a process of its own. */
export function runLoad(plan: LoadPlan): Promise<LoadResult> {
  return runScript<LoadResult>('./load.ts', plan)
}

/** Runs a source file of the bench in a process of its own, which gets its plan as JSON and prints its result as JSON. */
export async function runScript<Result>(file: string, plan: object): Promise<Result> {
  const path = new URL(file, import.meta.url).pathname
  const { stdout } = await promisify(execFile)(process.execPath, [path, JSON.stringify(plan)])
  return JSON.parse(stdout) as Result
}

/** Runs a command of Tidings and returns its output. Rejects if the exit status is not 0. */
export async function runCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  const path = new URL('../bin/tidings', import.meta.url).pathname
  const { stdout } = await promisify(execFile)(path, [...args], { env: { ...process.env, ...environment } })
  return stdout
}

/** Resident memory now and at its peak, in MiB. Only on Linux. */
export function readMemoryMib(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mib = (name: string) => Math.round(Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024)
  return { now: mib('VmRSS'), peak: mib('VmHWM') }
}

/** The sum of one metric of a server over all labels. */
export async function readMetric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const lines = text.split('\n').filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

const APPLIED_WAIT_MS = 300_000
const APPLIED_POLL_MS = 50

/** Waits until the pipeline of a server has applied all of its log. */
export async function waitUntilApplied(url: string): Promise<void> {
  const deadline = Date.now() + APPLIED_WAIT_MS
  while ((await readMetric(url, 'tidings_log_lag_entries')) > 0) {
    if (Date.now() > deadline) throw new Error(`the pipeline is still behind after ${APPLIED_WAIT_MS} ms`)
    await new Promise((resolve) => setTimeout(resolve, APPLIED_POLL_MS))
  }
}

const TICKS_PER_SECOND = 100

/**
 * The steal time of all processors so far, in milliseconds: other virtual machines used it while this one wanted to run. A rate
 * measured meanwhile says less about the program.
 */
export function readStolenMs(): number {
  const [all = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  // cpu user nice system idle iowait irq softirq steal
  return (Number(all.split(/ +/)[8]) / TICKS_PER_SECOND) * 1000
}

/** The processor time of a process so far, in milliseconds: of all its threads, and of its main thread, which runs HTTP. */
export function readCpuMs(pid: number): { readonly all: number; readonly main: number } {
  return { all: readTicksMs(`/proc/${pid}/stat`), main: readTicksMs(`/proc/${pid}/task/${pid}/stat`) }
}

/** The processor time in the `stat` file of a process or thread in `/proc`, in milliseconds. */
export function readTicksMs(file: string): number {
  const fields = readFileSync(file, 'utf8').split(') ')[1]?.split(' ') ?? []
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1000
}
