// List users: returns a page of the users of a workspace, newest first, or of those whose ids or address contain a text.
import { Type } from 'typebox'
import { toEmailKey } from '../../actions/email-protection.ts'
import type { Fault } from '../../core/app-error.ts'
import { inDigits } from '../../core/in-digits.ts'
import { EMAIL_LENGTH_MAX, isEmail, normalizeEmailPart } from '../../core/users/email-address.ts'
import type { Workspace } from '../../core/workspace.ts'
import { SEARCHED_IDS_MAX } from '../../store/users/user-identities.ts'
import { findExactUserIds, searchUsers, type UserSearch } from '../../store/users/user-search.ts'
import { Nullable, Strict, Text, WorkspacePath } from '../fields.ts'
import { JsonText } from '../json-text.ts'
import { defineOperation, type Parts } from '../operation.ts'
import { BEFORE_LENGTH_MAX, PageCursor } from '../page-cursor.ts'
import { PAGE_BYTES_MAX, PAGE_SIZE_LIMIT } from '../read-page.ts'
import { queueUserRead } from './queue-user-read.ts'
import { readUserBodies, UserOutput } from './user-body.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 500
/** The most users that one request examines. */
export const EXAMINED_MAX = 100_000
/** How many of the users that match exactly were shown, and the user before which the others continue. */
const CURSOR = new PageCursor('s', ['exact', 'before'])
type Cursor = NonNullable<ReturnType<typeof CURSOR.parse>>
const BEGINNING: Cursor = { exact: 0, before: Number.MAX_SAFE_INTEGER }

export const listUsers = defineOperation({
  name: 'list_users',
  summary: 'List users',
  description:
    'Returns the users of the workspace, newest first; with `search`, those with a customer id, an identifier or an email ' +
    'address that contains the text. Users whose id or address is exactly the text come first. Case is ignored in ASCII ' +
    'letters of ids and in addresses. If emails are encrypted, only a whole address is found; if they are tokenized, none. ' +
    `A request examines at most ${inDigits(EXAMINED_MAX)} users, and the first ${SEARCHED_IDS_MAX} ids of each: a page may ` +
    'have fewer users than `limit`, even none, and still a `next_before`. Send that as `before` to continue. It is null ' +
    `on the last page. A page ends early if its users would exceed ${PAGE_SIZE_LIMIT} as JSON. Merged users appear once.`,
  group: 'Events and users',
  method: 'GET',
  url: '/v1/customer/:Workspace_ID/users',
  requires: 'users.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: Strict({
    search: Type.Optional(Text(1, EMAIL_LENGTH_MAX, 'A part of a customer id, an identifier or an email address.')),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT, description: 'Users per page.' }),
    ),
    before: Type.Optional(Text(1, BEFORE_LENGTH_MAX, 'The `next_before` of the previous page, of the same `search`.')),
  }),
  body: null,
  faults: ({ query: { before } }) => beforeFaults(before),
  successStatus: 200,
  output: Type.Object({ data: Type.Array(Type.Object(UserOutput)), next_before: Nullable(Type.String()) }),
  handle: ({ query, workspace }, parts) => queueUserRead(parts.queue, workspace, () => list(query, workspace, parts)),
})

interface Query {
  readonly search?: string
  readonly limit?: number
  readonly before?: string
}

async function list(query: Query, workspace: Workspace, parts: Parts): Promise<JsonText> {
  const { limit = LIMIT_DEFAULT, before } = query
  const from = (before === undefined ? undefined : CURSOR.parse(before)) ?? BEGINNING
  const found = await findPage(toSearch(query.search, workspace, parts), from, { limit, workspace, parts })
  const items: string[] = []
  let bytes = 0
  for await (const users of readUserBodies(parts.database, found.ids, { workspace, emailVault: parts.emailVault })) {
    for (const { id, body } of users) {
      const item = JSON.stringify(body)
      bytes += Buffer.byteLength(item)
      if (bytes > PAGE_BYTES_MAX && items.length > 0) return toPage(items, found.cursorBefore(id))
      items.push(item)
    }
  }
  return toPage(items, found.next)
}

function toPage(items: readonly string[], next: Cursor | undefined): JsonText {
  return JsonText.objectBeginningWith('data', items, { next_before: next ? CURSOR.write(next) : null })
}

/** The users of a page, and where to continue after it; undefined at the end of the list. */
interface FoundPage {
  readonly ids: readonly number[]
  readonly next: Cursor | undefined
  /** Where a page begins that shows this user of the page first. */
  readonly cursorBefore: (id: number) => Cursor
}

interface PageRequest {
  readonly limit: number
  readonly workspace: Workspace
  readonly parts: Parts
}

async function findPage(
  search: UserSearch,
  from: Cursor,
  { limit, workspace, parts: { database } }: PageRequest,
): Promise<FoundPage> {
  const without = await findExactUserIds(database, workspace, search)
  const exact = without.slice(from.exact, from.exact + limit)
  const shown = from.exact + exact.length
  const max = limit - exact.length
  // One more than requested shows whether another page follows.
  const range = { before: from.before, max: max + 1, examinedMax: EXAMINED_MAX }
  const { ids, examinedTo } = await searchUsers(database, workspace.id, { ...search, without }, range)
  const others = ids.slice(0, max)
  const hasMore = ids.length > max || examinedTo > 0 || shown < without.length
  // Continues at the user that did not fit, or behind all that were examined.
  const before = ids.length > max ? (ids[max] as number) + 1 : examinedTo
  return {
    ids: [...exact, ...others],
    next: hasMore ? { exact: shown, before } : undefined,
    cursorBefore(id) {
      const index = without.indexOf(id)
      return index < 0 ? { exact: shown, before: id + 1 } : { exact: index, before: from.before }
    },
  }
}

function toSearch(text: string | undefined, workspace: Workspace, { emailVault }: Parts): UserSearch {
  if (text === undefined) return {}
  const { emailProtection } = workspace
  return {
    text,
    emailPart: emailProtection === 'none' ? normalizeEmailPart(text) || undefined : undefined,
    emailKey: emailProtection !== 'tokenized' && isEmail(text) ? toEmailKey(workspace, text, emailVault) : undefined,
  }
}

function beforeFaults(before: string | undefined): Fault[] {
  if (before === undefined || CURSOR.parse(before)) return []
  return [{ field: 'query.before', problem: 'must be the next_before of an earlier page' }]
}
