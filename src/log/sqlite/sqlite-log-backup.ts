// Carries the embedded log into a backup, which is an SQLite file that also holds the state, and out of it again.
import SqliteFile from 'better-sqlite3'
import { GROUP_COLUMNS, GroupWriter, keepEnd, lastPosition, toRows, type GroupRow } from './entry-groups.ts'
import { LOG_TABLES, openLogForReading, openLogForWriting } from './sqlite-log-file.ts'

const KEY_COLUMNS = ['workspace_id', 'key', 'hash', 'request_id', 'received_at']
const REQUEST_ID = KEY_COLUMNS.indexOf('request_id')
const TABLES = ['entry_groups', 'log_end', 'idempotency_keys']

/** Positions behind `after`, up to `through`. */
interface Span {
  readonly after: number
  readonly through: number
}

/** The log as it was when this was opened: entries that are appended or trimmed meanwhile change nothing. */
export class SqliteLogSnapshot {
  /** The last position handed out; every request acknowledged before is at or below it. */
  readonly head: number
  readonly #log: SqliteFile.Database

  /** Makes the log's file if it is not there. */
  constructor(path: string) {
    openLogForWriting(path).close()
    this.#log = openLogForReading(path)
    this.head = this.#pin()
  }

  /**
   * Adds the log's tables to a file whose state has applied everything up to `cursor`: all entries of the snapshot, and
   * those after it that the state holds already. What is newer than both is left out, with its keys, so that a repeat of
   * such a request is not mistaken for one that is kept. New positions go on after all of them.
   */
  copyInto(path: string, cursor: number): void {
    const backup = openPlain(path)
    try {
      backup.exec(LOG_TABLES)
      backup.exec('begin')
      copyEntries(this.#log, backup, { after: 0, through: this.head })
      copyKeys(this.#log, backup)
      if (cursor > this.head) {
        this.#log.exec('commit')
        this.#pin()
        const later = { after: this.head, through: cursor }
        copyEntries(this.#log, backup, later)
        copyKeysOf(this.#log, backup, later)
      }
      keepEnd(backup, Math.max(this.head, cursor))
      backup.exec('commit')
    } finally {
      backup.close()
    }
  }

  close(): void {
    this.#log.close()
  }

  /** Everything read from here on sees the log as it is now; gives its last position. */
  #pin(): number {
    this.#log.exec('begin')
    return lastPosition(this.#log)
  }
}

/** Makes a log from what a backup holds of it. There must be no file at `path`. */
export function restoreLog(backupPath: string, path: string): void {
  const backup = new SqliteFile(backupPath, { readonly: true, fileMustExist: true })
  try {
    const log = openLogForWriting(path)
    try {
      log.exec('begin')
      copyAllEntries(backup, log)
      copyKeys(backup, log)
      log.exec('commit')
    } finally {
      log.close()
    }
  } finally {
    backup.close()
  }
}

/** Takes the log's tables out of a copy of a backup, so that only the state is left, and gives their space back. */
export function removeLog(path: string): void {
  const file = openPlain(path)
  try {
    for (const name of TABLES) file.exec(`drop table if exists ${name}`)
    file.exec('vacuum')
  } finally {
    file.close()
  }
}

/** For a file that nobody else knows yet: whoever fills it makes it durable once it is complete. */
function openPlain(path: string): SqliteFile.Database {
  const file = new SqliteFile(path, { fileMustExist: true })
  file.pragma('journal_mode = MEMORY')
  file.pragma('synchronous = OFF')
  return file
}

function copyAllEntries(from: SqliteFile.Database, to: SqliteFile.Database): void {
  const end = lastPosition(from)
  copyEntries(from, to, { after: 0, through: end })
  keepEnd(to, end)
}

/** The entries behind `after`, where a group ends, up to `through`, which may be in the middle of one. */
function copyEntries(from: SqliteFile.Database, to: SqliteFile.Database, { after, through }: Span): void {
  const whole = from.prepare(
    `select ${GROUP_COLUMNS.join(', ')} from entry_groups where last_position > ? and last_position <= ?`,
  )
  copyRows(whole.raw().iterate(after, through), to.prepare(insertInto('entry_groups', GROUP_COLUMNS)))
  const cut: SqliteFile.Statement<[number], GroupRow> = from.prepare(
    'select * from entry_groups where last_position > ? order by last_position limit 1',
  )
  const rest = cut.get(through)
  if (rest) new GroupWriter(to).rewrite(toRows(rest).filter(({ position }) => position <= through))
}

/** All keys, even those whose entries have been trimmed since. */
function copyKeys(from: SqliteFile.Database, to: SqliteFile.Database): void {
  const keys = from.prepare(`select ${KEY_COLUMNS.join(', ')} from idempotency_keys`)
  copyRows(keys.raw().iterate(), to.prepare(insertInto('idempotency_keys', KEY_COLUMNS)))
}

/** The keys of requests whose entries were copied into a file. */
function copyKeysOf(from: SqliteFile.Database, to: SqliteFile.Database, { after, through }: Span): void {
  const groups: SqliteFile.Statement<[number, number], GroupRow> = to.prepare(
    'select * from entry_groups where last_position > ? and last_position <= ?',
  )
  const copied = new Set<string>()
  for (const group of groups.iterate(after, through)) {
    for (const { request_id: id } of toRows(group)) copied.add(id)
  }
  const keys = from.prepare(`select ${KEY_COLUMNS.join(', ')} from idempotency_keys`)
  const ofCopied = keys.raw().iterate() as Iterable<unknown[]>
  const insertion = to.prepare(insertInto('idempotency_keys', KEY_COLUMNS))
  for (const key of ofCopied) if (copied.has(key[REQUEST_ID] as string)) insertion.run(key)
}

/** A key that was used anew replaces its use of more than a day before. */
function insertInto(table: string, columns: readonly string[]): string {
  return `insert or replace into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`
}

function copyRows(rows: Iterable<unknown>, insertion: SqliteFile.Statement): void {
  for (const row of rows) insertion.run(row)
}
