// The young generation of the pipeline's thread, in processes with and without a limit.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

/** Prints the heap limits of three threads, in MiB: of one with room, and of others before and after it. */
const SCRIPT = `
  import { once } from 'node:events'
  import { Worker } from 'node:worker_threads'
  import { startWithRoom } from './src/runtime/start-with-room.ts'
  const [threads, v8] = ['node:worker_threads', 'node:v8'].map((name) => "process.getBuiltinModule('" + name + "')")
  const tell = threads + '.parentPort.postMessage(' + v8 + '.getHeapStatistics().heap_size_limit)'
  const start = () => new Worker(tell, { eval: true })
  const limits = []
  for (const way of [start, () => startWithRoom(start), start]) {
    const [limit] = await once(way(), 'message')
    limits.push(limit / 2 ** 20)
  }
  console.log(JSON.stringify(limits))
`

async function limitsWith(...settings: readonly string[]): Promise<[before: number, withRoom: number, after: number]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...settings, '--input-type=module', '--eval', SCRIPT],
    { cwd: new URL('../..', import.meta.url).pathname },
  )
  return JSON.parse(stdout) as [number, number, number]
}

it('makes the young generation larger than that of other threads, which keep the limit of the process', async () => {
  const [before, withRoom, after] = await limitsWith('--max-semi-space-size=8')
  expect(withRoom - before).toBeGreaterThanOrEqual(2 * (16 - 8))
  expect(after).toBe(before)
})

it("keeps V8's default if the process has no limit", async () => {
  const [before, withRoom, after] = await limitsWith()
  expect([withRoom, after]).toEqual([before, before])
})
