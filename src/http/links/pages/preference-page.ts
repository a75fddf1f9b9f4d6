// The page on which a person chooses emails by category, and the form that it sends back.
import { createHash } from 'node:crypto'
import { wordsIn, type PageLanguage, type PageWords } from '../../../core/links/page-words.ts'
import { isOn, isOut } from '../../../core/users/change-by-link.ts'
import type { Preference, PreferenceRequest } from '../../../core/users/preference.ts'
import { escapeForPage, renderPage } from './page.ts'

/** Enough to tell the categories of a workspace apart: the form names them by a hash, because a name may be long. */
const HASH_LENGTH = 16
/** The form with two hashes of each category of a workspace that has as many as possible. */
export const PREFERENCE_FORM_BYTES_MAX = 64 * 1024

export interface PreferencePage {
  readonly language: PageLanguage
  readonly categories: readonly ShownCategory[]
  readonly preference: Preference
  readonly isSaved: boolean
}

export interface ShownCategory {
  readonly name: string
  /** What the page calls it. */
  readonly label: string
}

export function renderPreferences({ language, categories, preference, isSaved }: PreferencePage): string {
  const words = wordsIn(language)
  const notes = [...(isSaved ? [words.saved] : []), ...(isOut(preference) ? [words.isOut] : [])]
  const note = notes.length > 0 ? `<p class="note" role="status">${escapeForPage(notes.join(' '))}</p>\n` : ''
  const switches = categories.length > 0 ? `${renderSwitches(words, categories, preference)}\n` : ''
  const quiet = categories.length > 0 ? ' class="quiet"' : ''
  const body = `${note}<form method="post">
${switches}<button name="end" value="all"${quiet}>${escapeForPage(words.endAll)}</button>
</form>`
  return renderPage({ language, title: words.preferences, body })
}

function renderSwitches(words: PageWords, categories: readonly ShownCategory[], preference: Preference): string {
  const switches = categories.map(({ name, label }) => {
    const hash = hashOf(name)
    const checked = isOn(preference, name) ? ' checked' : ''
    return `<label><span dir="auto">${escapeForPage(label)}</span><input type="checkbox" role="switch" name="on" value="${hash}"${checked}></label>
<input type="hidden" name="shown" value="${hash}">`
  })
  return `<fieldset>
<legend>${escapeForPage(words.choose)}</legend>
${switches.join('\n')}
</fieldset>
<button name="save" value="choices">${escapeForPage(words.save)}</button>`
}

export interface PreferenceChoice {
  readonly action: 'unsubscribe' | 'preferences'
  readonly request: PreferenceRequest
}

/**
 * What a form asks for; undefined if no button of the page sent it. A category that the page did not show, because it is newer, stays
 * as it is.
 */
export function readPreferenceForm(form: URLSearchParams, categories: readonly string[]): PreferenceChoice | undefined {
  if (form.has('end')) {
    const ended = Object.fromEntries(categories.map((category) => [category, false]))
    return { action: 'unsubscribe', request: { status: 'OPTED_OUT', categories: ended } }
  }
  if (!form.has('save')) return undefined
  const [shown, on] = [new Set(form.getAll('shown')), new Set(form.getAll('on'))]
  const known = categories.map((category) => [category, hashOf(category)] as const)
  const chosen = known
    .filter(([, hash]) => shown.has(hash))
    .map(([category, hash]) => [category, on.has(hash)] as const)
  return { action: 'preferences', request: { categories: Object.fromEntries(chosen) } }
}

function hashOf(category: string): string {
  return createHash('sha256').update(category).digest('base64url').slice(0, HASH_LENGTH)
}
