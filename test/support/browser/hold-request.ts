// Holds one request of a page back, so that a test can do something while it is under way.
import type { Page } from 'playwright-core'

export interface HeldRequest {
  /** Resolves when the page has sent it. */
  readonly sent: Promise<void>
  /** Lets it go on to the server. */
  readonly release: () => void
}

/** Holds the next request with this method whose path ends so. */
export async function holdRequest(page: Page, method: string, path: string): Promise<HeldRequest> {
  const sent = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  await page.route(
    ({ pathname }) => pathname.endsWith(path),
    async (route) => {
      if (route.request().method() !== method) return route.fallback()
      sent.resolve()
      await released.promise
      await route.continue()
    },
  )
  return { sent: sent.promise, release: released.resolve }
}
