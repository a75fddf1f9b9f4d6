// Measures how long an import takes, from the start of the command until the last row is applied: `npm run bench -- import`.
// `BENCH_PEOPLE` sets the number of rows (1,000,000).
import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { startProcess, stopProcess } from '../processes.ts'

const PEOPLE = Number(process.env['BENCH_PEOPLE'] ?? 1_000_000)
const HEADER = 'customer_id,email,first_name,last_name,plan,opt_in_status\n'
const LINES_AT_ONCE = 1_000
const PROGRAM = new URL('../../bin/tidings', import.meta.url).pathname

export async function benchImport(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-bench-'))
  const environment = { DATA_DIR: join(folder, 'data'), PORT: '0', LOG_LEVEL: 'warn' }
  try {
    const file = join(folder, 'people.csv')
    await pipeline(Readable.from(toLines()), createWriteStream(file))
    const created = await runTidings(['workspace', 'create', 'main'], environment)
    const server = await startProcess('../bin/tidings', ['serve', '--json'], environment)
    try {
      const { url } = JSON.parse(server.firstLine) as { url: string }
      const startedAt = performance.now()
      const key = String(created['data_key'])
      const imported = await runTidings(['import', file, '--workspace', 'main', '--url', url], { DATA_KEY: key })
      const seconds = (performance.now() - startedAt) / 1000
      const rate = Math.round(PEOPLE / seconds)
      process.stdout.write(
        `${PEOPLE} people in ${seconds.toFixed(1)} s, ${rate} a second; ${JSON.stringify(imported)}\n`,
      )
    } finally {
      await stopProcess(server)
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function* toLines(): Generator<string> {
  yield HEADER
  for (let from = 0; from < PEOPLE; from += LINES_AT_ONCE) {
    const numbers = Array.from({ length: Math.min(LINES_AT_ONCE, PEOPLE - from) }, (_, index) => from + index)
    yield numbers.map((n) => `customer-${n},person.${n}@example.com,Anna,"Schmidt, Dr.",premium,OPTED_IN\n`).join('')
  }
}

async function runTidings(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, unknown>>> {
  const env = { ...process.env, ...environment }
  const { stdout } = await promisify(execFile)(PROGRAM, [...args, '--json'], { env })
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>
}
