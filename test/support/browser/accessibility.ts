// Checks a page with axe-core: everybody can read and use it, light and dark.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { CDPSession, Page } from 'playwright-core'
import { expect } from 'vitest'
import { SCHEMES } from './open-page.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** WCAG 2.2, levels A and AA, and what axe knows besides. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** What a scheme can break. */
const COLOURS = ['color-contrast']

/** Resolves when the page is painted in its new colours. */
const PAINTED = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))'

/** The page as it is now, with what is open on it: all rules in light, those about colours in dark too. The page is light afterwards. */
export async function expectNoAxeViolations(page: Page): Promise<void> {
  // Through the debugger, because the page allows no script that it did not load itself.
  const session = await page.context().newCDPSession(page)
  if (!(await evaluate(session, 'window.axe !== undefined'))) await evaluate(session, `(() => { ${AXE} })()`)
  const [light, dark] = SCHEMES
  const found = await findViolations(session, RULES)
  const paint = async (colorScheme: (typeof SCHEMES)[number]) => {
    await page.emulateMedia({ colorScheme })
    await page.evaluate(PAINTED)
  }
  await paint(dark)
  found.push(...(await findViolations(session, COLOURS)).map((violation) => `dark: ${violation}`))
  await paint(light)
  await session.detach()
  expect(found).toEqual([])
}

async function findViolations(session: CDPSession, rules: readonly string[]): Promise<string[]> {
  // A mail in its frame is the work of others, and no script of ours reaches it.
  const options = { runOnly: rules, resultTypes: ['violations'], iframes: false }
  const { violations } = (await evaluate(session, `axe.run(document, ${JSON.stringify(options)})`)) as AxeResults
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} (${help}) at ${target.join(' ')}: ${failureSummary}`),
  )
}

async function evaluate(session: CDPSession, expression: string): Promise<unknown> {
  const asked = { expression, awaitPromise: true, returnByValue: true }
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', asked)
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
  return result.value
}
