// The table of attachments: what a campaign sends with its messages, fetched once when it was started.
import type { SqlTypes, Store } from '../store.ts'

interface DeliveryAttachmentRow {
  /** `campaigns.number`. */
  campaign: number
  /** 1, 2, … over all templates of the campaign. */
  number: number
  /** The address in the templates. */
  url: string
  /** Such as `application/pdf`. */
  type: string
  /** In base64: both databases and a move between them know text. */
  content: string
}

declare module '../tables.ts' {
  interface Tables {
    delivery_attachments: DeliveryAttachmentRow
  }
}

/** What was at an address when the campaign was started. Several templates may attach it, each under its own name. */
export interface FetchedFile {
  readonly url: string
  readonly type: string
  readonly content: Uint8Array
}

export async function createDeliveryAttachments({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('delivery_attachments')
    .addColumn('campaign', integer, (column) => column.notNull())
    .addColumn('number', integer, (column) => column.notNull())
    .addColumn('url', text, (column) => column.notNull())
    .addColumn('type', text, (column) => column.notNull())
    .addColumn('content', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('delivery_attachments_key', ['campaign', 'number'])
    .execute()
}

/** Needs the transaction in which the campaign is started. */
export async function addDeliveryAttachments(
  { query }: Store,
  campaign: number,
  files: readonly FetchedFile[],
): Promise<void> {
  for (const [index, { url, type, content }] of files.entries()) {
    const base64 = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64')
    await query
      .insertInto('delivery_attachments')
      .values({ campaign, number: index + 1, url, type, content: base64 })
      .execute()
  }
}

/** In the order of their numbers; empty if the campaign has none, or was never started. */
export async function listDeliveryAttachments({ query }: Store, campaign: number): Promise<FetchedFile[]> {
  const rows = await query
    .selectFrom('delivery_attachments')
    .select(['url', 'type', 'content'])
    .where('campaign', '=', campaign)
    .orderBy('number')
    .execute()
  return rows.map(({ content, ...row }) => ({ ...row, content: new Uint8Array(Buffer.from(content, 'base64')) }))
}
