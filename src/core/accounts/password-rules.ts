// Which passwords people may choose: long, and not among those that everybody tries first. No demand for digits or capitals: they make
// passwords that are harder to remember and no harder to guess (NIST SP 800-63B, section 5.1.1.2).
import { codePointLength } from '../bounded-text.ts'
import { GUESSED_PASSWORDS } from './guessed-passwords.ts'

const PASSWORD_LENGTH_MIN = 12
/** Hashing takes longer for longer texts. */
export const PASSWORD_LENGTH_MAX = 256
/** A password has at least so many different characters. */
const DIFFERENT_CHARACTERS_MIN = 5
/** A piece that is too short for a password and repeated up to the end, such as `abcabcabcabc`. */
const REPEATED_PIECE = new RegExp(`^(.{1,${PASSWORD_LENGTH_MIN - 1}}?)\\1+$`, 'su')
const BETWEEN_WORDS = /[\s._-]/g
const RUNS = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890123456789',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertzuiopasdfghjklyxcvbnm',
]

/** The words that are guessed, as passwords are compared with them. */
const GUESSED = new Set(Array.from(GUESSED_PASSWORDS, withoutEnds))

/** The same password, however a keyboard writes it: with letters of another width, or accents of their own. */
export function normalizePassword(password: string): string {
  return password.normalize('NFKC')
}

/** The problem of a new password; undefined if it may be used. `personal`: texts that others know, such as address and name. */
export function passwordProblem(password: string, personal: readonly string[] = []): string | undefined {
  const normal = normalizePassword(password)
  const length = codePointLength(normal)
  if (length < PASSWORD_LENGTH_MIN) return `must have at least ${PASSWORD_LENGTH_MIN} characters`
  if (length > PASSWORD_LENGTH_MAX) return `must have at most ${PASSWORD_LENGTH_MAX} characters`
  const plain = normal.toLowerCase()
  const word = withoutEnds(plain)
  const isGuessable =
    new Set(plain).size < DIFFERENT_CHARACTERS_MIN ||
    REPEATED_PIECE.test(plain) ||
    RUNS.some((run) => isPartOf(run, plain)) ||
    GUESSED.has(word.replaceAll(BETWEEN_WORDS, ''))
  if (isGuessable) return 'is too easy to guess: choose another one'
  return personal.flatMap(wordsOf).includes(word) ? 'must not be your address or name' : undefined
}

/** Also backwards. */
function isPartOf(run: string, text: string): boolean {
  return run.includes(text) || Array.from(run).toReversed().join('').includes(text)
}

/** Digits and signs that people add to satisfy a rule do not make a password harder to guess. */
function withoutEnds(text: string): string {
  return text.replaceAll(/^\P{L}+|\P{L}+$/gu, '') || text
}

function wordsOf(text: string): string[] {
  const plain = normalizePassword(text).toLowerCase()
  const [beforeAt = plain] = plain.split('@')
  return [plain, beforeAt, plain.replaceAll(/[^\p{L}\p{N}]/gu, '')].filter((word) => word !== '').map(withoutEnds)
}
