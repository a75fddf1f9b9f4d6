// Tokens in the links of messages: they say which message a request is about, and nobody else can make one. A token is the base64url
// of a version, a purpose, the run, the message and the link, and a shortened HMAC of them by the link key of the workspace.
import { createHmac, timingSafeEqual } from 'node:crypto'

/** What a token is for. A token for one purpose is worth nothing for another. */
export const TOKEN_PURPOSES = ['click', 'open', 'unsubscribe', 'preferences', 'view', 'bounce'] as const
export type TokenPurpose = (typeof TOKEN_PURPOSES)[number]

export interface LinkTarget {
  readonly purpose: TokenPurpose
  /** `runs.number`. */
  readonly run: number
  /** `messages.number`; 0 in previews and tests, which belong to nobody. */
  readonly message: number
  /** `run_links.number`; 0 if the token is not of a link. */
  readonly link: number
}

/** A token that was read, but not yet checked: the key depends on the workspace of the run. */
export interface UncheckedToken extends LinkTarget {
  readonly signed: Buffer
  readonly mac: Buffer
}

const VERSION = 1
const MAC_BYTES = 12
const NUMBERS = 3
/** Far longer than any token. */
const TOKEN_LENGTH_MAX = 64

/** `key`: the `link_key` of the workspace. */
export function makeToken(key: string, target: LinkTarget): string {
  const { purpose, run, message, link } = target
  const signed = Buffer.from([VERSION, TOKEN_PURPOSES.indexOf(purpose), ...[run, message, link].flatMap(toBytes)])
  return Buffer.concat([signed, macOf(key, signed)]).toString('base64url')
}

/** Undefined if the text cannot be a token. Compare its `mac` with `isGenuine` before it is believed. */
export function readToken(text: string): UncheckedToken | undefined {
  if (text.length > TOKEN_LENGTH_MAX) return undefined
  const bytes = Buffer.from(text, 'base64url')
  // Several texts decode to the same bytes; only one of them is the token.
  if (bytes.toString('base64url') !== text || bytes[0] !== VERSION) return undefined
  const signed = bytes.subarray(0, -MAC_BYTES)
  const purpose = TOKEN_PURPOSES[signed[1] ?? TOKEN_PURPOSES.length]
  const numbers = readNumbers(signed.subarray(2))
  if (!purpose || numbers?.length !== NUMBERS) return undefined
  const [run, message, link] = numbers as [number, number, number]
  return { purpose, run, message, link, signed, mac: bytes.subarray(-MAC_BYTES) }
}

/** Whether the token was made with this key. Takes the same time for every token. */
export function isGenuine({ signed, mac }: UncheckedToken, key: string): boolean {
  return timingSafeEqual(macOf(key, signed), mac)
}

function macOf(key: string, signed: Uint8Array): Buffer {
  return createHmac('sha256', key).update(signed).digest().subarray(0, MAC_BYTES)
}

/** Seven bits a byte, the lowest first; all bytes but the last have the eighth bit. */
function toBytes(number: number): number[] {
  const bytes: number[] = []
  let rest = number
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return [...bytes, rest]
}

/** Undefined if the bytes end within a number, or a number is no safe integer. */
function readNumbers(bytes: Uint8Array): number[] | undefined {
  const numbers: number[] = []
  let number = 0
  let scale = 1
  for (const byte of bytes) {
    number += (byte % 128) * scale
    if (!Number.isSafeInteger(number)) return undefined
    if (byte >= 128) scale *= 128
    else {
      numbers.push(number)
      number = 0
      scale = 1
    }
  }
  return scale === 1 ? numbers : undefined
}
