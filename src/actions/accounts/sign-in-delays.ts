// Slows down guessing: after some failures in a row, an account and an address must wait before the next attempt, longer each time. In
// memory, because each process that serves HTTP makes the same rule, and a restart is nothing that a guesser can cause.
import { LRUCache } from 'lru-cache'
import { AppError } from '../../core/app-error.ts'
import { normalizeEmail } from '../../core/users/email-address.ts'
import { KeyedQueue } from '../../concurrency/keyed-queue.ts'

/** Failures without any wait, of an account and of an address, behind which many people may sit. */
const FREE_FAILURES = { account: 4, address: 20 } as const
const WAIT_MS_MAX = 5 * 60_000
/**
 * One failure is forgotten in this time. Somebody who guesses as fast as they may makes one in the same time, and those who mistype
 * now and then at one address do not add up.
 */
const FORGET_ONE_MS = WAIT_MS_MAX
/** Accounts and addresses that are remembered; those beyond are forgotten, the oldest first. */
const REMEMBERED_MAX = 20_000

interface Failures {
  readonly count: number
  readonly at: number
}

export interface SignInAttempt {
  /** Perhaps of nobody: whether there is such a person must not show. */
  readonly email: string
  readonly address: string
  readonly now: number
}

export class SignInDelays {
  readonly #failures = new LRUCache<string, Failures>({ max: REMEMBERED_MAX })
  readonly #queue = new KeyedQueue()

  /**
   * Runs a check of what somebody sent to prove who they are. An account has one at a time: a failure also delays those that were sent
   * together with it. `check` reports a failure with `addFailure`. Rejects with AppError `rate_limited` if the account or the address
   * must still wait, `unavailable` if too many attempts are queued, and as `check` does.
   */
  attempt<Result>(attempt: SignInAttempt, check: () => Promise<Result>): Promise<Result> {
    return this.#queue.run(accountKey(attempt.email), async () => {
      this.#refuseEarly(attempt)
      return check()
    })
  }

  addFailure({ email, address, now }: SignInAttempt): void {
    for (const key of [accountKey(email), addressKey(address)]) {
      this.#failures.set(key, { count: this.#countAt(key, now) + 1, at: now })
    }
  }

  /** After a success. The address keeps its failures, or an account of one's own would reset them. */
  forget({ email }: Pick<SignInAttempt, 'email'>): void {
    this.#failures.delete(accountKey(email))
  }

  #refuseEarly({ email, address, now }: SignInAttempt): void {
    const waitMs = Math.max(
      this.#waitMs(accountKey(email), FREE_FAILURES.account, now),
      this.#waitMs(addressKey(address), FREE_FAILURES.address, now),
    )
    if (waitMs <= 0) return
    const seconds = Math.ceil(waitMs / 1000)
    const wait = seconds === 1 ? '1 second' : `${seconds} seconds`
    throw new AppError('rate_limited', `Too many failed attempts. Wait ${wait}, then try again.`, [], seconds)
  }

  #waitMs(key: string, free: number, now: number): number {
    const failures = this.#failures.get(key)
    const counted = Math.ceil(failures?.count ?? 0) - free
    if (!failures || counted <= 0) return 0
    return failures.at + Math.min(WAIT_MS_MAX, 1000 * 2 ** (counted - 1)) - now
  }

  /** Not a whole number: failures are forgotten continuously. */
  #countAt(key: string, now: number): number {
    const failures = this.#failures.get(key)
    return failures ? Math.max(0, failures.count - (now - failures.at) / FORGET_ONE_MS) : 0
  }
}

function accountKey(email: string): string {
  return `account ${normalizeEmail(email)}`
}

function addressKey(address: string): string {
  return `address ${address}`
}
