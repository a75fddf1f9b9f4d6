// The table `idempotency_keys` of the embedded log, and every statement that names it. A key is written in the transaction of its
// entry. It begins no transaction of its own.
import type SqliteFile from 'better-sqlite3'
import { IDEMPOTENCY_KEPT_MS, type AppendOutcome } from '../event-log.ts'

export const SQLITE_KEYS_TABLE = 'idempotency_keys'

export const LOG_KEY_TABLES = `
  create table if not exists idempotency_keys (
    workspace_id text not null,
    key text not null,
    hash text not null,
    request_id text not null,
    received_at integer not null,
    primary key (workspace_id, key)
  ) without rowid;
  create index if not exists idempotency_keys_by_age on idempotency_keys (received_at);
`

const TRIMMED_MAX = 2_000

interface KeyRow {
  readonly workspace_id: string
  readonly key: string
  readonly hash: string
  readonly request_id: string
  readonly received_at: number
}

/** A key that is used again after more than a day replaces its first use. */
const SAVE = 'insert or replace into idempotency_keys values (@workspace_id, @key, @hash, @request_id, @received_at)'

export class SqliteLogKeys {
  readonly #find: SqliteFile.Statement<[string, string], KeyRow>
  readonly #save: SqliteFile.Statement<[KeyRow]>
  readonly #trim: SqliteFile.Statement<[number]>

  constructor(file: SqliteFile.Database) {
    this.#find = file.prepare('select * from idempotency_keys where workspace_id = ? and key = ?')
    this.#save = file.prepare(SAVE)
    this.#trim = file.prepare(
      `delete from idempotency_keys where (workspace_id, key) in (
         select workspace_id, key from idempotency_keys where received_at < ? limit ${TRIMMED_MAX})`,
    )
  }

  /** Claims a key for a request. Undefined if the entry is to be appended: it is the first with this key in 24 hours. */
  claim(claim: KeyRow): AppendOutcome | undefined {
    const existing = this.#find.get(claim.workspace_id, claim.key)
    if (existing && existing.received_at > claim.received_at - IDEMPOTENCY_KEPT_MS) {
      const isSame = existing.hash === claim.hash
      return isSame ? { outcome: 'repeated', requestId: existing.request_id } : { outcome: 'key_conflict' }
    }
    this.#save.run(claim)
    return undefined
  }

  /** Deletes a bounded number of keys received before an instant; true if there may be more. */
  trim(receivedBefore: number): boolean {
    return this.#trim.run(receivedBefore).changes >= TRIMMED_MAX
  }
}

/** Copies the keys to another log: all of them, or those of some requests. */
export function copyKeys(from: SqliteFile.Database, to: SqliteFile.Database, requestIds?: ReadonlySet<string>): void {
  const keys: SqliteFile.Statement<[], KeyRow> = from.prepare('select * from idempotency_keys')
  const save = to.prepare(SAVE)
  for (const key of keys.iterate()) if (!requestIds || requestIds.has(key.request_id)) save.run(key)
}

/** Drops the table if it exists. */
export function dropKeys(file: SqliteFile.Database): void {
  file.exec('drop table if exists idempotency_keys')
}
