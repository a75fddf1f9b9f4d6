// Idempotency keys of a shared log that cannot store them itself. The log claims a key before it publishes the request, and sets
// the key to published afterwards. In between, a process that gets the same request publishes it again under the first id, under
// which it is applied once; so a process may die in between.
//
// | state of the key     | same hash                                        | another hash |
// | -------------------- | ------------------------------------------------ | ------------ |
// | none, or expired     | claim, publish, set to published: appended       | the same     |
// | claimed              | publish under its id, set to published: repeated | key_conflict |
// | published            | repeated                                         | key_conflict |
import { IDEMPOTENCY_KEPT_MS, type AppendOutcome, type NewEntry } from '../event-log.ts'
import { Batcher } from '../../concurrency/batcher.ts'

export interface KeyClaim {
  readonly workspaceId: string
  readonly key: string
  readonly hash: string
  readonly requestId: string
  readonly receivedAt: number
}

/** The request that has a key. */
export interface HeldKey {
  readonly hash: string
  readonly requestId: string
  readonly isPublished: boolean
}

/** Stores the keys in the state database, which all processes share. */
export interface KeyStore {
  /**
   * Gives each key to its claim, unless a request received within `keptMs` before has it. Returns the request that has each key
   * afterwards. All keys must differ.
   */
  claim(claims: readonly KeyClaim[], keptMs: number): Promise<HeldKey[]>
  markPublished(claims: readonly KeyClaim[]): Promise<void>
  /** Deletes a bounded number of keys; true if there may be more. */
  forget(receivedBefore: number): Promise<boolean>
}

const CLAIMS_PER_CALL_MAX = 500

export class KeyClaims {
  readonly #claims: Batcher<KeyClaim, HeldKey>
  readonly #publications: Batcher<KeyClaim, void>

  constructor(store: KeyStore) {
    const itemsMax = CLAIMS_PER_CALL_MAX
    this.#claims = new Batcher({ call: (claims) => claimAll(store, claims), itemsMax })
    this.#publications = new Batcher({ call: (claims) => markAllPublished(store, claims), itemsMax })
  }

  /**
   * `publish` resolves when the log has the entry under this request id. It may be called for an entry that the log has already.
   */
  async append(entry: NewEntry, publish: (requestId: string) => Promise<void>): Promise<AppendOutcome> {
    const claim = toClaim(entry)
    if (!claim) {
      await publish(entry.requestId)
      return { outcome: 'appended' }
    }
    const held = await this.#claims.add(claim)
    if (held.hash !== claim.hash) return { outcome: 'key_conflict' }
    if (!held.isPublished) {
      await publish(held.requestId)
      await this.#publications.add({ ...claim, requestId: held.requestId })
    }
    return held.requestId === entry.requestId
      ? { outcome: 'appended' }
      : { outcome: 'repeated', requestId: held.requestId }
  }
}

function toClaim({ workspaceId, requestId, receivedAt, idempotency }: NewEntry): KeyClaim | undefined {
  return idempotency && { workspaceId, requestId, receivedAt, ...idempotency }
}

/** Of several claims to one key only the first is made; its result is that of all. */
async function claimAll(store: KeyStore, claims: readonly KeyClaim[]): Promise<HeldKey[]> {
  const firsts = new Map<string, KeyClaim>()
  for (const claim of claims) if (!firsts.has(nameOf(claim))) firsts.set(nameOf(claim), claim)
  const names = [...firsts.keys()]
  const held = await store.claim([...firsts.values()], IDEMPOTENCY_KEPT_MS)
  const holders = new Map(names.map((name, index) => [name, held[index] as HeldKey]))
  return claims.map((claim) => holders.get(nameOf(claim)) as HeldKey)
}

async function markAllPublished(store: KeyStore, claims: readonly KeyClaim[]): Promise<void[]> {
  await store.markPublished(claims)
  return claims.map(() => undefined)
}

function nameOf({ workspaceId, key }: KeyClaim): string {
  return `${workspaceId}\n${key}`
}
