// Debian's Chromium for tests. A suite that needs it says so and is skipped where it is not installed; with REQUIRE_CHROMIUM=1 it fails
// instead.
import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe } from 'vitest'

/** Debian's, or where others put the same. The shell draws no window of its own, and takes half the time. */
const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser']

/** It asks nobody for anything, and finds no address but this machine's. */
const OPTIONS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-quic',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
]
const START_WAIT_MS = 60_000

const program = findProgram()

function findProgram(): string | undefined {
  const found = PROGRAMS.find((path) => existsSync(path))
  if (found !== undefined) return found
  if (process.env['REQUIRE_CHROMIUM'] === '1') throw new Error('Chromium is required and not found')
  process.stderr.write(`skipped in Chromium: none of ${PROGRAMS.join(', ')} is found\n`)
  return undefined
}

/** Declares a suite with one browser for all its tests; `browser` may be called once they run. */
export function describeInChromium(name: string, declare: (browser: () => Browser) => void): void {
  describe.skipIf(program === undefined)(`${name} in Chromium`, () => {
    let browser: Browser | undefined
    beforeAll(async () => {
      browser = await chromium.launch({ executablePath: program as string, args: OPTIONS, timeout: START_WAIT_MS })
    })
    afterAll(() => browser?.close())
    declare(() => browser as Browser)
  })
}
