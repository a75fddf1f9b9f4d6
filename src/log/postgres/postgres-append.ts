// One group of entries on its way to PostgreSQL: which of them are sent, as columns, and what the answer means for each.
import { contextText } from '../context-text.ts'
import type { AppendOutcome, NewEntry } from '../event-log.ts'
import { partitionOf } from '../partition.ts'
import type { AppendColumns, UsedKeyRow } from './postgres-log-table.ts'

const APPENDED: AppendOutcome = { outcome: 'appended' }

/** The request that a key stands for. */
interface Claim {
  readonly requestId: string
  readonly hash: string
}

export class PostgresAppend {
  readonly #entries: readonly NewEntry[]
  /** Without those whose key an earlier entry of the group has: whatever becomes of that entry, they are not appended. */
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

  /** The outcome of every entry of the group, told from those that were left out because their keys are known. */
  outcomes(known: readonly UsedKeyRow[]): AppendOutcome[] {
    const claims = new Map<string, Claim>()
    for (const { place, known_hash: hash, known_request_id: requestId } of known) {
      const name = keyName(this.#sent[place - 1] as NewEntry)
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
