// A page of the messages of a run that a search finds: first those to the person that the text names as a whole, then the others.
import { toEmailKey } from '../../../actions/email-protection.ts'
import type { Fault } from '../../../core/app-error.ts'
import { isEmail } from '../../../core/users/email-address.ts'
import { CUSTOMER_ID } from '../../../core/users/user.ts'
import type { Workspace } from '../../../core/workspace.ts'
import type { RunMessage } from '../../../store/delivery/messages.ts'
import { findMessagesTo, searchMessages, type MessageTraits } from '../../../store/delivery/lists/searched-messages.ts'
import { findUser } from '../../../store/users/users.ts'
import { JsonText } from '../../json-text.ts'
import type { Parts } from '../../operation.ts'
import { PageCursor } from '../../page-cursor.ts'
import { PAGE_BYTES_MAX } from '../../read-page.ts'
import { addDetails, writeMessage, type ListedCampaign } from './message-body.ts'
import { MESSAGES_PER_PAGE } from './message-pages.ts'

/** The most messages that one request examines. */
export const MESSAGES_EXAMINED_MAX = 100_000
/** Messages whose attempts are read at once. */
const PORTION_MAX = 51
/** How many of the messages to the named person were shown, and the message before which the others continue; 0: all. */
const CURSOR = new PageCursor('s', ['exact', 'before'])
type Cursor = NonNullable<ReturnType<typeof CURSOR.parse>>
/** No message has a lower number. */
const NONE_LEFT = 1

export interface SearchQuery {
  readonly limit?: number
  readonly before?: string
  /** A part of a customer id, or a whole address. */
  readonly search?: string
}

/** The run that is searched, and its campaign. */
export interface SearchedRun {
  readonly number: number
  readonly campaign: ListedCampaign
  readonly workspace: Workspace
}

export function searchCursorFaults(before: string | undefined): Fault[] {
  if (before === undefined || CURSOR.parse(before)) return []
  return [{ field: 'query.before', problem: 'must be the next_before of an earlier page of the same search' }]
}

/** A page as JSON. The query has no faults. Examines at most `MESSAGES_EXAMINED_MAX` messages, so the page may have few, or none. */
export async function searchPage(
  parts: Parts,
  run: SearchedRun,
  { query, traits }: { readonly query: SearchQuery; readonly traits: MessageTraits },
): Promise<JsonText> {
  const { limit = MESSAGES_PER_PAGE, search: idPart, before } = query
  const from = (before === undefined ? undefined : CURSOR.parse(before)) ?? { exact: 0, before: 0 }
  const named = idPart === undefined ? [] : await findNamed(parts, run, { text: idPart, traits })
  const exact = named.slice(from.exact, from.exact + limit)
  const shown = from.exact + exact.length
  const max = limit - exact.length
  const searched = { ...traits, idPart, without: named.map(({ number }) => number) }
  // One more than requested shows whether another page follows.
  const range = { before: from.before || undefined, max: max + 1, examinedMax: MESSAGES_EXAMINED_MAX }
  const { messages, examinedTo } = await searchMessages(parts.database, run.number, searched, range)
  const hasMore = messages.length > max || examinedTo > 0 || shown < named.length
  /** Where a page begins that shows this message first, or that follows all that were examined. */
  const cursorAt = (index: number): Cursor => {
    if (index < exact.length) return { exact: from.exact + index, before: from.before }
    const { [index - exact.length]: first } = messages
    return { exact: shown, before: first ? first.number + 1 : Math.max(examinedTo, NONE_LEFT) }
  }
  const page = [...exact, ...messages.slice(0, max)]
  const items = await writePage(parts, run, page)
  const next = items.length < page.length || hasMore ? CURSOR.write(cursorAt(items.length)) : null
  return JsonText.objectBeginningWith('data', items, { next_before: next })
}

/** The messages to the person whose customer id or address is exactly the text. */
async function findNamed(
  { database, emailVault }: Parts,
  { number, workspace }: SearchedRun,
  { text, traits }: { readonly text: string; readonly traits: MessageTraits },
): Promise<RunMessage[]> {
  const user = await findUser(database, workspace.id, { name: CUSTOMER_ID, value: text })
  const isAddress = workspace.emailProtection !== 'tokenized' && isEmail(text)
  const emailKey = isAddress ? toEmailKey(workspace, text, emailVault) : undefined
  return findMessagesTo(database, number, { userId: user?.id, emailKey }, traits)
}

/** The items of the messages that fit into a page. */
async function writePage(
  { database }: Parts,
  { number, campaign, workspace }: SearchedRun,
  page: readonly RunMessage[],
): Promise<readonly string[]> {
  const items: string[] = []
  const campaignOf = new Map([[number, campaign]])
  let bytes = 0
  for (let start = 0; start < page.length; start += PORTION_MAX) {
    const messages = page.slice(start, start + PORTION_MAX)
    for (const message of await addDetails(database, workspace.id, { messages, campaignOf })) {
      const item = writeMessage(message)
      bytes += Buffer.byteLength(item)
      if (bytes > PAGE_BYTES_MAX && items.length > 0) return items
      items.push(item)
    }
  }
  return items
}
