// Pages of messages, as the operations that list messages share them.
import { Type } from 'typebox'
import type { Fault } from '../../../core/app-error.ts'
import type { MessageCursor } from '../../../store/delivery/lists/listed-messages.ts'
import { Nullable, Text } from '../../fields.ts'
import { JsonText } from '../../json-text.ts'
import { BEFORE_LENGTH_MAX, PageCursor } from '../../page-cursor.ts'
import { readPage } from '../../read-page.ts'
import { MessageOutput, writeMessage, type DetailedMessage } from './message-body.ts'

export const MESSAGES_PER_PAGE = 50
const LIMIT_MAX = 500
const CURSOR = new PageCursor('m', ['run', 'nextAt', 'number'])

/** Query fields of both operations. */
export const MESSAGE_PAGE_FIELDS = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: MESSAGES_PER_PAGE, description: 'Messages per page.' }),
  ),
  before: Type.Optional(Text(1, BEFORE_LENGTH_MAX, 'The `next_before` of a page.')),
}

export const MessagePageOutput = Type.Object({ data: Type.Array(MessageOutput), next_before: Nullable(Type.String()) })

export function beforeFaults(before: string | undefined): Fault[] {
  if (before === undefined || CURSOR.parse(before)) return []
  return [{ field: 'query.before', problem: 'must be the next_before of an earlier page' }]
}

type PageQuery = { readonly limit?: number; readonly before?: string }
type Read = (portion: {
  readonly before: MessageCursor | undefined
  readonly max: number
}) => Promise<DetailedMessage[]>

/** A page as JSON. The query has no faults. */
export async function readMessages({ limit = MESSAGES_PER_PAGE, before }: PageQuery, read: Read): Promise<JsonText> {
  const first: MessageCursor | undefined = before === undefined ? undefined : CURSOR.parse(before)
  const { items, last } = await readPage({ before: first, limit, read, write: writeMessage })
  return JsonText.objectBeginningWith('data', items, { next_before: last ? CURSOR.write(last) : null })
}
