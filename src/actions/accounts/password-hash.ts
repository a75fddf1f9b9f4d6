// Hashes passwords slowly, so that a stolen table of people takes years to guess from: argon2id, or scrypt where Node has no argon2.
// The parameters are those that OWASP's Password Storage Cheat Sheet asks for at least.
import * as crypto from 'node:crypto'
import { promisify } from 'node:util'
import { normalizePassword } from '../../core/accounts/password-rules.ts'
import { AppError } from '../../core/app-error.ts'
import { Semaphore } from '../../concurrency/semaphore.ts'

const ARGON2 = { memory: 19_456, passes: 2, parallelism: 1 } as const
const SCRYPT = { cost: 2 ** 15, blockSize: 8, parallelization: 3 } as const
const SCRYPT_BYTES_MAX = 128 * 2 ** 20
/** Of new hashes. */
const ALGORITHM = 'argon2' in crypto ? 'argon2id' : 'scrypt'
const SALT_BYTES = 16
const HASH_BYTES = 32
/** Hashes at one time, each of up to 32 MB. */
const HASHING_MAX = 2
/** Requests that wait for one. */
const WAITING_MAX = 50
const WAITERS = 'passwords'

const scrypt = promisify<crypto.BinaryLike, crypto.BinaryLike, number, crypto.ScryptOptions, Buffer>(crypto.scrypt)

/** Hashes and checks passwords, a few at a time: others wait, and too many get `unavailable`. */
export class PasswordHashes {
  readonly #slots = new Semaphore({
    slotsMax: HASHING_MAX,
    waitingMax: WAITING_MAX,
    refusal: () => new AppError('unavailable', 'Too many people are signing in. Retry after 1 second.', [], 1),
  })
  /** Compared in place of the password of nobody, so that both take equally long. No password has it. */
  readonly #ofNobody = toText(ALGORITHM, crypto.randomBytes(SALT_BYTES), crypto.randomBytes(HASH_BYTES))

  /** A text with algorithm, salt and hash. */
  async hash(password: string): Promise<string> {
    const salt = crypto.randomBytes(SALT_BYTES)
    return toText(ALGORITHM, salt, await this.#slots.run(WAITERS, () => derive(ALGORITHM, password, salt)))
  }

  /** Whether it is the password of this hash. Takes as long without a hash, and is then false. */
  async isRight(password: string, stored: string | undefined): Promise<boolean> {
    const [algorithm = '', salt = '', expected = ''] = (stored ?? this.#ofNobody).split('$')
    const found = await this.#slots.run(WAITERS, () => derive(algorithm, password, Buffer.from(salt, 'base64url')))
    return crypto.timingSafeEqual(found, Buffer.from(expected, 'base64url')) && stored !== undefined
  }
}

function toText(algorithm: string, salt: Buffer, hash: Buffer): string {
  return [algorithm, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

/** With other parameters, an algorithm gets another name, which stands in each hash: those of a name never change. */
function derive(algorithm: string, password: string, salt: Buffer): Promise<Buffer> {
  const message = normalizePassword(password)
  switch (algorithm) {
    case 'argon2id':
      return new Promise((resolve, reject) => {
        crypto.argon2('argon2id', { message, nonce: salt, tagLength: HASH_BYTES, ...ARGON2 }, (error, hash) =>
          error ? reject(error) : resolve(hash),
        )
      })
    case 'scrypt':
      return scrypt(message, salt, HASH_BYTES, { ...SCRYPT, maxmem: SCRYPT_BYTES_MAX })
    default:
      throw new Error(`unknown algorithm of a password: ${algorithm}`)
  }
}
