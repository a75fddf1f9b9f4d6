// One call of `log_append`: converts entries to its columns, and its rows to the outcome of each entry. It sends nothing itself.
import { contextText } from '../context-text.ts'
import type { AppendOutcome, NewEntry } from '../event-log.ts'
import { partitionOf } from '../partition.ts'
import type { AppendColumns, UsedKeyRow } from './postgres-log-table.ts'

const APPENDED: AppendOutcome = { outcome: 'appended' }

/** The request that used a key. */
interface Claim {
  readonly requestId: string
  readonly hash: string
}

export class PostgresAppend {
  readonly #entries: readonly NewEntry[]
  /** Without the entries whose key an earlier entry of this call has: they are never appended. */
  readonly #sent: readonly NewEntry[]

  constructor(entries: readonly NewEntry[]) {
    const names = new Set<string>()
    this.#entries = entries
    this.#sent = entries.filter((entry) => {
      const name = keyName(entry)
      if (name === undefined) return true
      const isFirst = !names.has(name)
      names.add(name)
      return isFirst
    })
  }

  columns(): AppendColumns {
    const sent = this.#sent
    const bodyLengths = sent.map(({ body }) => body.byteLength)
    let end = 0
    return {
      kinds: sent.map(({ kind }) => kind),
      workspaceIds: sent.map(({ workspaceId }) => workspaceId),
      partitions: sent.map(({ partitionKey }) => partitionOf(partitionKey)),
      requestIds: sent.map(({ requestId }) => requestId),
      contexts: sent.map(({ context }) => contextText(context)),
      bodyLengths,
      bodyEnds: bodyLengths.map((length) => (end += length)),
      bodies: Buffer.concat(sent.map(({ body }) => body)),
      keys: sent.map(({ idempotency }) => idempotency?.key ?? null),
      hashes: sent.map(({ idempotency }) => idempotency?.hash ?? null),
    }
  }

  /** The outcome of every entry, from the rows of those that PostgreSQL left out because their keys are in use. */
  outcomes(usedKeys: readonly UsedKeyRow[]): AppendOutcome[] {
    const claims = new Map<string, Claim>()
    for (const { ordinal, used_hash: hash, used_request_id: requestId } of usedKeys) {
      const name = keyName(this.#sent[ordinal - 1] as NewEntry)
      if (name !== undefined) claims.set(name, { hash, requestId })
    }
    return this.#entries.map((entry) => {
      const name = keyName(entry)
      if (name === undefined || !entry.idempotency) return APPENDED
      const claim = claims.get(name)
      if (claim) return compare(claim, entry.idempotency.hash)
      claims.set(name, { requestId: entry.requestId, hash: entry.idempotency.hash })
      return APPENDED
    })
  }
}

function compare(claim: Claim, hash: string): AppendOutcome {
  return claim.hash === hash ? { outcome: 'repeated', requestId: claim.requestId } : { outcome: 'key_conflict' }
}

/** Undefined for an entry without a key. */
function keyName({ workspaceId, idempotency }: NewEntry): string | undefined {
  return idempotency && JSON.stringify([workspaceId, idempotency.key])
}
