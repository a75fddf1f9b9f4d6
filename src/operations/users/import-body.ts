// An import on the wire: how far its file is received and applied.
import { Type } from 'typebox'
import { toIso } from '../../core/time-value.ts'
import { isBeingSent, type StoredImport } from '../../store/users/imports.ts'
import { IsoTime, OneOf } from '../fields.ts'

export const ImportOutput = Type.Object({
  import_id: Type.String(),
  status: OneOf(
    ['receiving', 'interrupted', 'processing', 'complete'],
    '`receiving`: the file is being sent. `interrupted`: send the same file with the same Idempotency-Key to continue. ' +
      '`processing`: every accepted row is durable, and not all are applied. `complete`: all are applied.',
  ),
  rows: Type.Integer({ description: 'Rows read, without the header.' }),
  accepted: Type.Integer({ description: 'Rows that are durable.' }),
  refused: Type.Integer(),
  refusals: Type.Array(Type.Object({ line: Type.Integer(), problem: Type.String() }), {
    description: 'The first 1,000 refused rows, by their line in the file.',
  }),
  applied: Type.Integer({ description: 'Accepted rows that are visible in every response.' }),
  kept_opted_out: Type.Integer({
    description: 'Applied rows that would have opted somebody in who had opted out. The opt-out was kept.',
  }),
  incomplete: Type.Integer({
    description: 'Applied rows of which an attribute or an address was not stored, as in the request status.',
  }),
  created_at: IsoTime,
})

export function toImportBody(stored: StoredImport, now: number) {
  const { id, rows, refused, refusals, applied, keptOptedOut, incomplete, createdAt } = stored
  return {
    import_id: id,
    status: statusOf(stored, now),
    rows,
    accepted: rows - refused,
    refused,
    refusals,
    applied,
    kept_opted_out: keptOptedOut,
    incomplete,
    created_at: toIso(createdAt),
  }
}

function statusOf(stored: StoredImport, now: number) {
  if (!stored.isReceived) return isBeingSent(stored, now) ? 'receiving' : 'interrupted'
  return stored.applied < stored.rows - stored.refused ? 'processing' : 'complete'
}
