// Runs each guide of `docs/guides/` as it is written, against a real server, and compares what its commands print with what it shows.
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { ERROR_CODES } from '../../src/core/app-error.ts'
import { compareTexts } from '../../src/core/campaigns/facts.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { startMailPage } from '../support/mail-sink/mail-page.ts'
import { startMailSink, type MailSink } from '../support/mail-sink/mail-sink.ts'
import { startServer, type TestServer } from '../support/server.ts'

// Guides start processes, and wait as a person would.
vi.setConfig({ testTimeout: 120_000 })

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOLDER = join(ROOT, 'docs/guides')
const GUIDES = readdirSync(FOLDER).filter((name) => name.endsWith('.md'))
/** Stands for what differs from run to run. */
const ANYTHING = '…'

interface Block {
  readonly language: string
  readonly text: string
  /** The file that the sentence before the block names. */
  readonly file: string | undefined
}

function blocksOf(guide: string): Block[] {
  const text = readFileSync(join(FOLDER, guide), 'utf8')
  return [...text.matchAll(/^(?:`([\w.-]+)`[^\n]*\n(?:[^\n`][^\n]*\n)*\n)?```(\w+)\n(.*?)^```$/gms)].map(
    ([, file, language = '', content = '']) => ({ language, file, text: content }),
  )
}

/** A script that runs the commands of a guide, with a mark after each block; and what each of them should print. */
function toScript(blocks: readonly Block[]): { script: string; expected: (string | undefined)[] } {
  const lines: string[] = ['set -e']
  const expected: (string | undefined)[] = []
  for (const [index, { language, text }] of blocks.entries()) {
    if (language !== 'sh') continue
    lines.push(text, 'echo; echo "=== end of block"')
    const next = blocks[index + 1]
    expected.push(next && ['json', 'text'].includes(next.language) ? next.text : undefined)
  }
  return { script: lines.join('\n'), expected }
}

/** White space does not matter, and `…` stands for anything. */
function toPattern(shown: string): RegExp {
  const parts = withoutSpace(shown).split(ANYTHING)
  return new RegExp(`^${parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`)
}

function withoutSpace(text: string): string {
  return text.replaceAll(/\s+/g, '')
}

describe('The guides', () => {
  let server: TestServer
  let sink: MailSink
  let page: Awaited<ReturnType<typeof startMailPage>>
  let environment: Record<string, string>
  beforeAll(async () => {
    sink = await startMailSink()
    page = await startMailPage(sink.mails, 0)
    server = await startServer('sqlite', { PUBLIC_URL: 'http://127.0.0.1:8080' })
    environment = {
      PATH: process.env['PATH'] ?? '',
      URL: server.url,
      WORKSPACE: server.workspace.id,
      DATA_KEY: server.workspace.dataKey,
      REPORTS_KEY: server.workspace.reportsKey,
      DATA_DIR: server.dataDir,
      WEBHOOKS_PORT: String((await findFreePorts(1))[0]),
      SINK_PORT: String(sink.port),
      SINK_PAGE: page.url,
      LOG_LEVEL: 'error',
    }
  })
  afterAll(async () => {
    await server.stop()
    await page.stop()
    await sink.stop()
  })

  it.each(GUIDES)('%s runs as it is written', async (guide) => {
    const folder = join(server.dataDir, `guide-${guide}`)
    mkdirSync(folder)
    mkdirSync(join(folder, 'bin'))
    writeFileSync(join(folder, 'bin/tidings'), `#!/bin/sh\nexec ${join(ROOT, 'bin/tidings')} "$@"\n`, { mode: 0o755 })
    const blocks = blocksOf(guide)
    for (const { file, text, language } of blocks) {
      if (file !== undefined && ['js', 'python'].includes(language)) writeFileSync(join(folder, file), text)
    }
    const { script, expected } = toScript(blocks)
    // Rejects, and shows what was printed, when a command fails.
    const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: folder, env: environment })
    const outputs = stdout.split('\n=== end of block\n').slice(0, -1).map(withoutSpace)
    expect(outputs).toHaveLength(expected.length)
    for (const [index, shown] of expected.entries()) {
      expect(outputs[index]).toMatch(toPattern(shown ?? ANYTHING))
    }
  })

  it('name every error code, with cause and remedy', () => {
    const text = readFileSync(join(FOLDER, 'errors.md'), 'utf8')
    const named = [...text.matchAll(/^\| `([a-z_]+)` +\| \d+ +\| [^|]+ \| [^|]+ \|$/gm)].map(([, code = '']) => code)
    expect(named.toSorted(compareTexts)).toEqual(ERROR_CODES.toSorted(compareTexts))
  })

  it('are all listed on the first page of the documents', () => {
    const page = readFileSync(join(ROOT, 'docs/README.md'), 'utf8')
    for (const guide of GUIDES) expect(page).toContain(`(guides/${guide})`)
  })

  it('need only programs that this machine has', () => {
    for (const program of ['curl', 'node', 'python3', 'bash']) {
      expect(execFileSync('bash', ['-c', `command -v ${program}`], { encoding: 'utf8' })).not.toBe('')
    }
  })
})
