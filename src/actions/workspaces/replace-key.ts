// Replaces the API key of a tile. The old key ends at once, or stays valid for some hours, so that every client can change over.
import { toChangerName, type ChangeContext } from '../../core/accounts/audit.ts'
import type { KeyTile } from '../../core/accounts/key-tile.ts'
import { toIso } from '../../core/time-value.ts'
import type { Store } from '../../store/store.ts'
import { generateKey, hashKey, validPrevious, type ApiKey, type ApiKeys } from '../../store/workspaces/api-key.ts'
import { forgetOtherUses } from '../../store/workspaces/key-uses.ts'
import { lockWorkspaces, saveKeys } from '../../store/workspaces/workspaces.ts'
import { recordChange } from '../audit/record-change.ts'
import { requireWorkspace } from './require-workspace.ts'

/** How long an old key may stay valid. */
export const OLD_KEY_HOURS_MAX = 24
const HOUR_MS = 60 * 60 * 1000

export interface KeyReplacement {
  readonly tile: KeyTile
  /** 0 to `OLD_KEY_HOURS_MAX`; 0: the old key ends at once. */
  readonly oldKeyValidHours: number
  readonly by: ChangeContext
}

export interface ReplacedKey {
  /** Exists nowhere else: the store has only its hash. */
  readonly key: string
  readonly previousValidUntil: number | null
}

/**
 * A key that was kept at an earlier replacement ends at once. Throws AppError `not_found` if there is no such workspace. Needs a
 * transaction, in which it takes `lockWorkspaces`.
 */
export async function replaceKey(store: Store, replacement: KeyReplacement): Promise<ReplacedKey> {
  const { tile, oldKeyValidHours, by } = replacement
  const { now } = by
  const { id: workspaceId } = by.workspace
  await lockWorkspaces(store)
  const { keys } = await requireWorkspace(store, workspaceId)
  const key = generateKey(tile)
  const validUntil = now + oldKeyValidHours * HOUR_MS
  const previous = oldKeyValidHours > 0 ? { hash: keys[tile].hash, validUntil } : null
  const changed: ApiKeys = {
    ...keys,
    [tile]: { hash: hashKey(key), createdAt: now, createdBy: toChangerName(by), previous },
  }
  await saveKeys(store, workspaceId, changed)
  await forgetOtherUses(store, workspaceId, Object.values(changed).flatMap(hashesOf(now)))
  const previousValidUntil = previous && validUntil
  await recordKey(store, by, { tile, before: keys[tile], after: changed[tile] })
  return { key, previousValidUntil }
}

interface ChangedKey {
  readonly tile: KeyTile
  readonly before: ApiKey
  readonly after: ApiKey
}

async function recordKey(store: Store, by: ChangeContext, { tile, before, after }: ChangedKey): Promise<void> {
  const bodies = { before: toBody(before, by.now), after: toBody(after, by.now) }
  await recordChange(store, by, { kind: 'key', id: tile, action: 'generate_key', ...bodies, secrets: ['key'] })
}

function toBody(key: ApiKey, now: number) {
  const previous = validPrevious(key, now)
  const validUntil = previous ? toIso(previous.validUntil) : null
  return { created_by: key.createdBy, previous_valid_until: validUntil }
}

function hashesOf(now: number) {
  return (key: ApiKey): string[] => {
    const previous = validPrevious(key, now)
    return previous ? [key.hash, previous.hash] : [key.hash]
  }
}
