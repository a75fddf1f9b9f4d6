// Checks `keepNewObjectsYoung` in a server: V8 has its default settings until the server is loaded.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { cachedDataVersionTag } from 'node:v8'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { run, start } from '../support/program.ts'
import { until } from '../support/server.ts'

const TEST_WAIT_MS = 60_000
/** Prints the hash of the flags that compiled code depends on, at the start and when it has changed. */
const TELL_TAGS = `
  import { cachedDataVersionTag } from 'node:v8'
  import { isMainThread } from 'node:worker_threads'
  let told
  const tell = () => {
    const tag = cachedDataVersionTag()
    if (tag !== told) process.stderr.write('<' + tag + '>')
    told = tag
  }
  if (isMainThread) {
    tell()
    setInterval(tell, 20).unref()
  }`

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidings-young-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

it(
  'The program starts with the settings that let V8 use the compiled code of Node, and a server changes them once it is loaded',
  async () => {
    const plain = cachedDataVersionTag()
    const script = join(folder, 'tell-tags.mjs')
    writeFileSync(script, TELL_TAGS)
    const env = { NODE_OPTIONS: `--import=${pathToFileURL(script).href}`, DATA_DIR: join(folder, 'data'), PORT: '0' }
    expect(await run(['--version'], env)).toMatchObject({ status: 0, stderr: `<${plain}>` })
    const server = start(['serve'], env)
    const tags = () => server.output().stderr.match(/<\d+>/g) ?? []
    await until('the settings have changed', () => tags().length > 1, TEST_WAIT_MS)
    await server.stop('SIGTERM')
    expect(tags()).toHaveLength(2)
    expect(tags()[0]).toBe(`<${plain}>`)
  },
  TEST_WAIT_MS,
)
