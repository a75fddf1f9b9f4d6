// The page for a link that leads nowhere. It is the same for every reason, so that nobody can try tokens.
import { renderPage } from './page.ts'

/** In English: without a genuine token, nobody knows the person. */
export const MISSING_PAGE = renderPage({
  language: 'en',
  title: 'This link does not work',
  body: '<p>It may be incomplete. Please open it from the email again.</p>',
})
