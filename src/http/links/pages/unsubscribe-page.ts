// The pages on which a person unsubscribes, and reads that it is done.
import { wordsIn, type PageLanguage } from '../../../core/links/page-words.ts'
import { escapeForPage, renderPage } from './page.ts'

export interface UnsubscribePage {
  readonly language: PageLanguage
  /** What the page calls the category that ends; null: all emails. */
  readonly category: string | null
  /** The address of the preference page, relative to this one. */
  readonly preferencesUrl: string
}

/** One button. The form has the same field as a one-click request (RFC 8058). */
export function renderUnsubscribe({ language, category, preferencesUrl }: UnsubscribePage): string {
  const words = wordsIn(language)
  const question = category === null ? words.askAll : words.askCategory(category)
  const body = `<p>${escapeForPage(question)}</p>
<form method="post">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button>${escapeForPage(words.unsubscribe)}</button>
</form>
${linkTo(preferencesUrl, words.preferences)}`
  return renderPage({ language, title: words.unsubscribe, body })
}

export function renderUnsubscribed({ language, category, preferencesUrl }: UnsubscribePage): string {
  const words = wordsIn(language)
  const outcome = category === null ? words.doneAll : words.doneCategory(category)
  const body = `<p class="note" role="status">${escapeForPage(outcome)}</p>\n${linkTo(preferencesUrl, words.preferences)}`
  return renderPage({ language, title: words.done, body })
}

function linkTo(url: string, text: string): string {
  return `<p class="more"><a href="${escapeForPage(url)}">${escapeForPage(text)}</a></p>`
}
