// Runs the commands of the README as a newcomer would type them, in a copy of the tracked files and on a free port.
import { execFileSync, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { readConfig } from '../../src/app/config.ts'
import { until } from '../support/server.ts'

// Each block starts processes, and a busy machine starts them slowly.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
const BLOCKS = [...README.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands = '']) => commands)
const LINES_MAX = 150
const DEFAULT_PORT = '8080'
/** Stands for the data key that the first start prints. */
const KEY_SHOWN = 'td_data_…'
const BLOCK_WAIT_MS = 30_000

/** The output of each block, in order, except for the first, which installs and starts. */
const PRINTED: readonly (readonly [what: string, printed: RegExp])[] = [
  ['takes the printed data key', /^$/],
  ['tracks an event', /"status":"success"/],
  ['shows the event', /"action":"Order Placed","attributes":\{"amount":49\.9\}/],
  ['writes a template', /"external_template_id":"[^"]+","version":1/],
  ['finds the template', /"template_name":"Welcome mail".*"total_count":1/],
  ['lists the commands', /workspace create ID/],
  ['makes a workspace with settings', /limits\.track_events_per_minute=60000\n[^]*Offers\n$/],
  ['writes a backup', /tidings-backup\.db \(\d+ bytes\)\n$/],
]

describe('the README', () => {
  let checkout: string
  let server: ChildProcessWithoutNullStreams
  let shell: Shell
  let port: string
  let dataKey: string

  beforeAll(async () => {
    checkout = copyTrackedFiles()
    port = String(await findFreePort())
    const env = {
      PATH: outsidePath(),
      PORT: port,
      DATA_DIR: join(checkout, 'data'),
      HOME: checkout,
      LOG_LEVEL: 'warn',
      npm_config_update_notifier: 'false',
    }
    const [, start = ''] = (BLOCKS[0] ?? '').split('\n')
    server = spawn('sh', ['-c', `exec ${start} 2>&1`], { cwd: checkout, env })
    shell = new Shell(checkout, env)
    const printed = collect(server)
    const isServing = () => {
      if (server.exitCode !== null) throw new Error(`it ended: ${printed()}`)
      return printed().includes(`is listening on http://127.0.0.1:${port}`)
    }
    await until('it serves', isServing, BLOCK_WAIT_MS)
    dataKey = await until('it prints the key', () => /^data key +(\S+)$/m.exec(printed())?.[1], BLOCK_WAIT_MS)
  })
  afterAll(async () => {
    shell.end()
    server.kill('SIGKILL')
    rmSync(checkout, { recursive: true })
  })

  it('installs and starts with two commands', () => {
    expect(BLOCKS[0]).toBe('npm ci\nnpm start\n')
    expect(README).toContain(`http://127.0.0.1:${DEFAULT_PORT}`)
    expect(readConfig({}).port).toBe(Number(DEFAULT_PORT))
  })

  it('has a test for the output of every other block', () => {
    expect(PRINTED.length).toBe(BLOCKS.length - 1)
  })

  it.each(PRINTED.map(([what, printed], index) => [what, printed, index + 1] as const))(
    '%s',
    async (_what, printed, index) => {
      const commands = (BLOCKS[index] ?? '').replaceAll(DEFAULT_PORT, port).replaceAll(KEY_SHOWN, dataKey)
      expect(await shell.run(commands, printed)).toMatch(printed)
    },
  )

  it('makes only files that git ignores', () => {
    const made = ['data/state.db', 'tidings-backup.db']
    const ignored = execFileSync('git', ['check-ignore', ...made], { cwd: ROOT, encoding: 'utf8' })
    expect(ignored).toBe(`${made.join('\n')}\n`)
  })

  it('stops serving when npm gets SIGTERM', async () => {
    server.kill('SIGTERM')
    await once(server, 'exit')
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow('fetch failed')
  })

  it('names every setting of the environment and its default', () => {
    const asked = new Set<string>()
    const environment = new Proxy<Record<string, string>>({}, { get: (_target, name) => void asked.add(String(name)) })
    readConfig(environment)
    const named = [...README.matchAll(/^\| `([A-Z_]+)` /gm)].map(([, name]) => name)
    expect(named).toEqual([...asked])
  })

  it('is short', () => {
    expect(README.split('\n').length).toBeLessThan(LINES_MAX)
  })
})

const DOCUMENTS = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n')

it.each(DOCUMENTS)('%s links only to files that exist', (name) => {
  const text = readFileSync(join(ROOT, name), 'utf8').replaceAll(/^```.*?^```$/gms, '')
  const links = [...text.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, link = '']) => link)
  const missing = links.filter((link) => !/^https?:/.test(link) && !existsSync(join(ROOT, dirname(name), link)))
  expect(missing).toEqual([])
})

/** One shell for all blocks, because later ones use variables that earlier ones set. */
class Shell {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #printed: () => string
  #blocks = 0

  constructor(cwd: string, env: Record<string, string>) {
    this.#child = spawn('sh', { cwd, env })
    this.#printed = collect(this.#child)
  }

  /**
   * Runs commands and returns their standard output. Repeats a query until the wanted output appears: an event is visible soon
   * after it is accepted, and sooner than a person asks.
   */
  async run(commands: string, wanted: RegExp): Promise<string> {
    const isRepeatable = commands.startsWith('curl') && !commands.includes(' -d ')
    let output = await this.#runOnce(commands)
    const again = async () => wanted.test((output = await this.#runOnce(commands)))
    if (isRepeatable && !wanted.test(output)) await until('it is visible', again, BLOCK_WAIT_MS)
    return output
  }

  /** Throws if the last of the commands fails. */
  async #runOnce(commands: string): Promise<string> {
    const from = this.#printed().length
    const mark = `--- end of block ${++this.#blocks}: `
    this.#child.stdin.write(`${commands}\nprintf '\\n${mark}%s\\n' $?\n`)
    const isDone = () => new RegExp(`${mark}\\d+\\n`).test(this.#printed().slice(from))
    await until(`a block ends: ${commands}`, isDone, BLOCK_WAIT_MS)
    const [output = '', status = ''] = this.#printed().slice(from).split(`\n${mark}`)
    if (status.trim() !== '0') throw new Error(`exit status ${status.trim()} of: ${commands}${output}`)
    return output
  }

  end(): void {
    this.#child.stdin.end()
  }
}

/** Collects the standard output of a child. Returns a function that returns all of it so far. */
function collect(child: ChildProcessWithoutNullStreams): () => string {
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
  child.stderr.resume()
  return () => printed
}

/** Copies the files of a clone, and links this checkout's packages instead of running `npm ci`. */
function copyTrackedFiles(): string {
  const checkout = mkdtempSync(join(tmpdir(), 'tidings-readme-'))
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0').filter(Boolean)
  for (const file of files.filter((name) => existsSync(join(ROOT, name)))) {
    mkdirSync(dirname(join(checkout, file)), { recursive: true })
    copyFileSync(join(ROOT, file), join(checkout, file))
  }
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'))
  return checkout
}

/** PATH without the folders of this checkout's programs, which npm's scripts put first. */
function outsidePath(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.filter((folder) => !folder.includes('node_modules')).join(delimiter)
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
