// The page in place of a dashboard that is not built: it says what to do.
import { PAGE_HEADERS, renderPage } from '../links/pages/page.ts'

export const UNBUILT_PAGE_HEADERS = { ...PAGE_HEADERS, 'cache-control': 'no-store' } as const

export const UNBUILT_PAGE = renderPage({
  language: 'en',
  title: 'The dashboard is not built',
  body: `<p>In the folder of Tidings, run <code>npm ci</code>, then <code>node_modules/.bin/node dashboard/build.ts</code> if it still
does not work: that says why. Then reload this page.</p>
<p>Everything else works without it. <a href="/docs">Read and try every operation</a></p>`,
})
