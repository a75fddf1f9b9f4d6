// Checks a page with axe-core: everybody can read and use it.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** WCAG 2.2, levels A and AA, and what axe knows besides. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** The page as it is now, with what is open on it. `rules`: their names, or tags; by default all. */
export async function expectNoAxeViolations(page: Page, rules: readonly string[] = TAGS): Promise<void> {
  // Through the debugger, because the page allows no script that it did not load itself.
  const session = await page.context().newCDPSession(page)
  const evaluate = async (expression: string) => {
    const asked = { expression, awaitPromise: true, returnByValue: true }
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', asked)
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
    return result.value as unknown
  }
  await evaluate(`window.axe === undefined && (() => { ${AXE} })()`)
  // A mail in its frame is the work of others, and no script of ours reaches it.
  const options = { runOnly: rules, resultTypes: ['violations'], iframes: false }
  const { violations } = (await evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResults
  await session.detach()
  const found = violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} (${help}) at ${target.join(' ')}: ${failureSummary}`),
  )
  expect(found).toEqual([])
}
