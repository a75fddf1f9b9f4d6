// The tables of the log in PostgreSQL, and every statement that names them.
//
// A sequence hands out its numbers before commit, so a reader who remembers the last one could miss one that commits late.
// Here positions and times are given, and committed, by one transaction at a time: the one that holds the log's lock.
// PostgreSQL shows a transaction's rows before it lets go of its locks, so whoever sees an entry sees all before it.
//
// `log_entries` is cut into segments by time, each a table of its own that is dropped as a whole. Rows that change are avoided:
// how far the log has come is read from its last entry. A counter updated by each append would leave dead rows, and all of
// them would have to be passed over as long as anybody (a dump, say) still looks at the past.
import type { QueryConfig } from 'pg'
import { IDEMPOTENCY_KEPT_MS, type TrimLimits } from '../event-log.ts'
import { LOG_PARTITIONS } from '../partition.ts'

/** A lock that two databases of one server do not share. */
const LOCK = `hashtextextended('the event log', 0)`
const DATABASE_NOW = `floor(extract(epoch from clock_timestamp()) * 1000)::bigint`
/** The last position and time handed out, even after all entries have been dropped. */
const LAST = `
  select position, received_at from (
    (select position, received_at from log_entries order by received_at desc, position desc limit 1)
    union all select position, received_at from log_trimmed
  ) as known order by position desc limit 1`
/** How long dropping a segment may wait, while nobody can read or write it; the next trimming tries again. */
const DROP_WAIT = '200ms'
const KEYS_FORGOTTEN_PER_STEP_MAX = 2_000
/** Where idempotency keys are, in the same columns as in the embedded log. */
export const POSTGRES_KEYS_TABLE = 'log_keys'

/** Checks first whether all this is there: making an index, even one that exists, waits for all who change the table. */
const TABLES = `
  do $$ begin
  if to_regclass('log_entries') is not null then return; end if;
  create table log_entries (
    received_at bigint not null,
    position bigint not null,
    partition smallint not null,
    kind text collate "C" not null,
    workspace_id text collate "C" not null,
    request_id text collate "C" not null,
    context text,
    body bytea not null,
    primary key (received_at, position)
  ) partition by range (received_at);
  create index log_entries_by_partition on log_entries (partition, position);
  create index log_entries_by_request on log_entries (request_id);
  create table log_segments (
    starts_at bigint primary key,
    ends_at bigint not null,
    first_position bigint not null
  );
  create table log_trimmed (position bigint not null, received_at bigint not null);
  insert into log_trimmed values (0, 0);
  create table log_keys (
    workspace_id text collate "C" not null,
    key text collate "C" not null,
    hash text not null,
    request_id text not null,
    received_at bigint not null,
    primary key (workspace_id, key)
  );
  create index log_keys_by_age on log_keys (received_at);
  end $$;
`

/**
 * Makes the segment that holds an instant if it is not there. To be called under the lock. Attaching a table, unlike creating
 * it with `partition of`, lets readers go on. Bodies are not compressed: on two cores 64 writers appended 13,300 bodies of
 * 8 KB a second, but only 3,000 compressed; of bodies of 60 KB 3,700, but only 240 compressed.
 */
const OPEN_SEGMENT = `
  create or replace function log_open_segment(instant bigint, segment_ms bigint, next_position bigint)
  returns void language plpgsql as $$
  declare
    starts bigint;
    ends bigint := instant - instant % segment_ms + segment_ms;
    segment text;
  begin
    if exists (select from log_segments where starts_at <= instant and ends_at > instant) then return; end if;
    select greatest(instant - instant % segment_ms, max(ends_at)) into starts from log_segments;
    segment := 'log_entries_' || starts;
    execute format('create table %I (like log_entries including all)', segment);
    execute format('alter table %I alter column body set storage external', segment);
    execute format('alter table log_entries attach partition %I for values from (%s) to (%s)', segment, starts, ends);
    insert into log_segments values (starts, ends, next_position);
  end $$;
`

/**
 * Appends a group of entries, all in this one call, so that the lock is never held while the network is waited for. Gives the
 * entries that were left out because their keys are known, by their places in the group, with what is known of the keys. A key
 * may be in a group only once. Later segments hold greater positions whatever the clock does: no entry gets a time before the
 * newest segment, which may have been opened by a group of which nothing was kept. Waits for the disk even where the operator
 * chose not to. On two cores one process with 64 requests waiting appended 40,000 entries of 500 bytes a second, and two such
 * processes 16,000 each, so COPY is not needed.
 */
const APPEND = `
  create or replace function log_append(
    segment_ms bigint, kinds text[], workspace_ids text[], partitions smallint[], request_ids text[], contexts text[],
    body_lengths integer[], body_ends integer[], bodies bytea, keys text[], hashes text[]
  ) returns table (place bigint, known_hash text, known_request_id text) language plpgsql as $$
  #variable_conflict use_column
  declare
    last record;
    stamp bigint;
    places bigint[];
    known_hashes text[];
    known_request_ids text[];
  begin
    if current_setting('synchronous_commit') = 'off' then perform set_config('synchronous_commit', 'on', true); end if;
    perform pg_advisory_xact_lock(${LOCK});
    select * into strict last from (${LAST}) as last_entry;
    stamp := greatest(last.received_at, ${DATABASE_NOW}, (select max(starts_at) from log_segments));
    perform log_open_segment(stamp, segment_ms, last.position + 1);

    select array_agg(entry.place), array_agg(known.hash), array_agg(known.request_id)
      into places, known_hashes, known_request_ids
      from unnest(workspace_ids, keys) with ordinality as entry (workspace_id, key, place)
      cross join lateral (
        select hash, request_id from log_keys
        where workspace_id = entry.workspace_id and key = entry.key and received_at > stamp - ${IDEMPOTENCY_KEPT_MS}
        limit 1
      ) as known;
    places := coalesce(places, '{}');

    insert into log_keys (workspace_id, key, hash, request_id, received_at)
      select entry.workspace_id, entry.key, entry.hash, entry.request_id, stamp
      from unnest(workspace_ids, keys, hashes, request_ids) with ordinality
        as entry (workspace_id, key, hash, request_id, place)
      where entry.key is not null and entry.place <> all (places)
      on conflict (workspace_id, key) do update
        set hash = excluded.hash, request_id = excluded.request_id, received_at = excluded.received_at;

    insert into log_entries (received_at, position, partition, kind, workspace_id, request_id, context, body)
      select stamp, last.position + entry.place - (select count(*) from unnest(places) as left_out where left_out < entry.place),
        entry.partition, entry.kind, entry.workspace_id, entry.request_id, entry.context,
        substring(bodies from entry.body_end - entry.body_length + 1 for entry.body_length)
      from unnest(kinds, workspace_ids, partitions, request_ids, contexts, body_lengths, body_ends) with ordinality
        as entry (kind, workspace_id, partition, request_id, context, body_length, body_end, place)
      where entry.place <> all (places);

    return query select * from unnest(places, known_hashes, known_request_ids);
  end $$;
`

/** Drops the oldest segment if all of its entries were applied and are old enough; false when nothing was dropped. */
const DROP_SEGMENT = `
  create or replace function log_drop_segment(through_position bigint, received_before bigint)
  returns boolean language plpgsql as $$
  declare
    last record;
    oldest record;
  begin
    if not exists (select from log_segments where ends_at <= received_before) then return false; end if;
    perform pg_advisory_xact_lock(${LOCK});
    select * into strict last from (${LAST}) as last_entry;
    select starts_at, ends_at, lead(first_position - 1, 1, last.position) over (order by starts_at) as last_position
      into oldest from log_segments order by starts_at limit 1;
    if not found or oldest.ends_at > received_before or oldest.last_position > through_position then return false; end if;
    perform set_config('lock_timeout', '${DROP_WAIT}', true);
    execute format('drop table %I', 'log_entries_' || oldest.starts_at);
    delete from log_segments where starts_at = oldest.starts_at;
    update log_trimmed set position = last.position, received_at = last.received_at;
    return true;
  exception when lock_not_available then
    return false;
  end $$;
`

/** Makes whatever of the log is missing, and brings its functions up to date. One transaction, and one at a time. */
export const CREATE_LOG: QueryConfig = {
  text: `select pg_advisory_xact_lock(${LOCK}); ${TABLES} ${OPEN_SEGMENT} ${APPEND} ${DROP_SEGMENT}`,
}

/** Entries as columns side by side. The bodies are in one piece, which PostgreSQL takes as raw bytes. */
export interface AppendColumns {
  readonly kinds: readonly string[]
  readonly workspaceIds: readonly string[]
  readonly partitions: readonly number[]
  readonly requestIds: readonly string[]
  readonly contexts: readonly (string | null)[]
  readonly bodyLengths: readonly number[]
  /** Where each body ends in `bodies`. */
  readonly bodyEnds: readonly number[]
  readonly bodies: Uint8Array
  readonly keys: readonly (string | null)[]
  readonly hashes: readonly (string | null)[]
}

/** An entry left out because its key is known; `place` counts from 1. */
export interface UsedKeyRow {
  place: number
  known_hash: string
  known_request_id: string
}

/** Gives KnownKeyRow. */
export function appendEntries(entries: AppendColumns, segmentMs: number): QueryConfig {
  const { kinds, workspaceIds, partitions, requestIds, contexts, bodyLengths, bodyEnds, bodies, keys, hashes } = entries
  return {
    text: 'select * from log_append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
    values: [
      segmentMs,
      kinds,
      workspaceIds,
      partitions,
      requestIds,
      contexts,
      bodyLengths,
      bodyEnds,
      bodies,
      keys,
      hashes,
    ],
  }
}

/** Gives one row, `dropped`. */
export function dropSegment({ throughPosition, entriesReceivedBefore }: TrimLimits): QueryConfig {
  return {
    text: 'select log_drop_segment($1, $2) as dropped',
    values: [throughPosition, entriesReceivedBefore],
  }
}

/** For a log that has no entries yet: the first gets a greater position than this. */
export function skipPositions(through: number): QueryConfig {
  return { text: 'update log_trimmed set position = greatest(position, $1)', values: [through] }
}

/** Gives one row, `has_more`. */
export function forgetKeys({ keysReceivedBefore }: TrimLimits): QueryConfig {
  return {
    // A key that is just being taken by a new request is passed over.
    text: `
      with old as (
        select workspace_id, key from log_keys where received_at < $1
        order by received_at limit ${KEYS_FORGOTTEN_PER_STEP_MAX} for update skip locked
      ), forgotten as (
        delete from log_keys as known using old
        where known.workspace_id = old.workspace_id and known.key = old.key returning 1
      ) select count(*) >= ${KEYS_FORGOTTEN_PER_STEP_MAX} as has_more from forgotten`,
    values: [keysReceivedBefore],
  }
}

const ENTRY_COLUMNS = 'position, kind, workspace_id, request_id, received_at, context, body'
/** Limits a query to the segment that holds, or will hold, the entry after a position, and to later segments. */
const segmentsBehind = (position: string) =>
  `received_at >= coalesce((select max(starts_at) from log_segments where first_position <= ${position} + 1), 0)`

/** Gives EntryRow, in order; see LogReader. */
export function readEntries(
  partition: number,
  after: number,
  bounds: { readonly entries: number; readonly bytes: number },
): QueryConfig {
  return {
    name: 'read_entries',
    text: `
      select ${ENTRY_COLUMNS} from (
        select *, row_number() over running as place, sum(octet_length(body)) over running as bytes from (
          select ${ENTRY_COLUMNS} from log_entries
          where partition = $1 and position > $2 and ${segmentsBehind('$2')}
          order by position limit $3
        ) as first window running as (order by position rows unbounded preceding)
      ) as counted where place = 1 or bytes <= $4 order by position`,
    values: [partition, after, bounds.entries, bounds.bytes],
  }
}

/** Gives the `position` and `received_at` of an entry, or nothing. */
export function findFirstAfter(cursors: readonly number[]): QueryConfig {
  return {
    name: 'find_first_after',
    text: `
      select first.position, first.received_at
      from unnest($1::bigint[]) with ordinality as cursor (position, place)
      cross join lateral (
        select position, received_at from log_entries
        where partition = cursor.place - 1 and position > cursor.position and ${segmentsBehind('cursor.position')}
        order by position limit 1
      ) as first order by first.position limit 1`,
    values: [Array.from({ length: LOG_PARTITIONS }, (_, partition) => cursors[partition] ?? 0)],
  }
}

/**
 * Gives one row: `instant`, `now` at the latest, and `behind_ms`, how far the time that it was taken from is behind the
 * database's clock. Entries are stamped under the lock. Where the lock is free, all that was stamped is committed, and what
 * comes next reads the clock after us. Otherwise what is on its way is not stamped before the last committed entry; waiting for
 * the lock would tell more, but would make readers wait for the disk. Holds as long as nobody sets the database's clock back.
 */
export function findLowWatermark(now: number): QueryConfig {
  return {
    name: 'find_settled',
    text: `
      select least($1::bigint, stamped) as instant, ${DATABASE_NOW} - stamped as behind_ms
      from (
        select case when pg_try_advisory_xact_lock_shared(${LOCK}) then ${DATABASE_NOW}
          else (select received_at from (${LAST}) as last_entry) end as stamped
      ) as settled`,
    values: [now],
  }
}

/** Gives one row, `position`. */
export function findLast(): QueryConfig {
  return { name: 'find_last', text: LAST }
}

/** Gives EntryRow, or nothing. */
export function findEntry(requestId: string): QueryConfig {
  return {
    name: 'find_entry',
    text: `select ${ENTRY_COLUMNS} from log_entries where request_id = $1`,
    values: [requestId],
  }
}
