// Entries of the audit trail on the wire, as the operation and the command show them.
import { Type, type Static } from 'typebox'
import { AUDIT_KINDS, type AuditEntry } from '../../core/accounts/audit.ts'
import { FIELD_CHANGES_MAX } from '../../core/accounts/field-changes.ts'
import { toIso } from '../../core/time-value.ts'
import { IsoTime, Nullable, OneOf } from '../fields.ts'
import { PageCursor } from '../page-cursor.ts'

export const AUDIT_CURSOR = new PageCursor('a', ['at', 'number'])

const Kept = Type.Unknown({
  description:
    'A text, number, boolean or null. A text of more than 200 characters is `{"length","sha256"}`: its bytes in UTF-8, and ' +
    'their hash in lower-case hex.',
})

export const AuditOutput = Type.Object({
  number: Type.Integer({ description: '1, 2, 3, … in the order in which the changes were committed.' }),
  at: IsoTime,
  who: Type.String({
    description: '`key:` and the tile, `person:` and the email address, or `command:` and the user of the server.',
  }),
  address: Nullable(Type.String({ description: 'Where the request came from. Null for a command.' })),
  action: Type.String({ description: 'The name of the operation, also if a command did it.' }),
  kind: OneOf(AUDIT_KINDS, 'What was changed.'),
  subject_id: Type.String({ description: 'Identifies it. Of a suppression, a keyed hash of the address.' }),
  subject_name: Nullable(Type.String()),
  changes: Type.Array(Type.Object({ field: Type.String(), before: Kept, after: Kept }), {
    maxItems: FIELD_CHANGES_MAX,
    description:
      'The fields that differ. Null: no value. Both null: the value is not kept, because it is a secret or the address of a person.',
  }),
  further_changes: Type.Integer({ description: 'How many more fields differ.' }),
  request_id: Nullable(Type.String({ description: 'Null for a command.' })),
})

export function toAuditBody(entry: AuditEntry): Static<typeof AuditOutput> {
  return {
    number: entry.number,
    at: toIso(entry.at),
    who: entry.who,
    address: entry.address,
    action: entry.action,
    kind: entry.kind,
    subject_id: entry.subjectId,
    subject_name: entry.subjectName,
    changes: [...entry.changes],
    further_changes: entry.furtherChanges,
    request_id: entry.requestId,
  }
}
