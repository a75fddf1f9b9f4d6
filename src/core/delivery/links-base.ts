// The base of links in messages: PUBLIC_URL, or the tracking_url of a sender.

export const LINKS_BASE_LENGTH_MAX = 1_024
/** The end of a sentence that begins with the name of the setting. */
export const LINKS_BASE_NEED = 'an http or https URL without user, query and fragment, such as https://mail.example.com'

/** The base without slashes at its end; undefined if the text is none. */
export function toLinksBase(text: string): string | undefined {
  const url = text.length > LINKS_BASE_LENGTH_MAX || /[?#\s]/.test(text) ? null : URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined
  return url.href.replace(/\/+$/, '')
}
