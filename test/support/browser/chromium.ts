// Debian's Chromium for tests. A suite that needs it says so and is skipped where it is not installed; with REQUIRE_CHROMIUM=1 it fails
// instead.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe } from 'vitest'
import { CHROMIUM_PROGRAMS, findChromium, launchChromium } from './launch-chromium.ts'

const program = findProgram()

function findProgram(): string | undefined {
  const found = findChromium()
  if (found !== undefined) return found
  if (process.env['REQUIRE_CHROMIUM'] === '1') throw new Error('Chromium is required and not found')
  process.stderr.write(`skipped in Chromium: none of ${CHROMIUM_PROGRAMS.join(', ')} is found\n`)
  return undefined
}

/** Declares a suite with one browser for all its tests; `browser` may be called once they run. */
export function describeInChromium(name: string, declare: (browser: () => Browser) => void): void {
  describe.skipIf(program === undefined)(`${name} in Chromium`, () => {
    let browser: Browser | undefined
    beforeAll(async () => void (browser = await launchChromium(program as string)))
    afterAll(() => browser?.close())
    declare(() => browser as Browser)
  })
}
