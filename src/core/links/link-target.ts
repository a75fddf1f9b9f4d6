// Where a link of a message leads. Targets come from the store, never from a request, so that nobody can make a link of ours lead
// elsewhere.

const LIQUID = /\{[{%]/
/** Needs no change to be a header: no space, nothing beyond ASCII, and no form that a browser would complete. */
const PLAIN = /^https?:\/\/[\x21-\x7e]+$/i

/** Whether the target differs between people: it is Liquid, and each message has its own. */
export function isPersonalTarget(url: string): boolean {
  return LIQUID.test(url)
}

/** The target as the header Location takes it: as written if it is plain, else as a browser reads it. Undefined if it is not on the web. */
export function toLocation(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, href } = new URL(url)
  if (protocol !== 'https:' && protocol !== 'http:') return undefined
  return PLAIN.test(url) ? url : href
}
