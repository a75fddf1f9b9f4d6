// Encodes text as quoted-printable (RFC 2045): ASCII lines of at most 76 characters that every server passes on unchanged.

const LINE_LENGTH_MAX = 76
const [TAB, LF, CR, SPACE, DOT, EQUALS, TILDE, F] = [0x09, 0x0a, 0x0d, 0x20, 0x2e, 0x3d, 0x7e, 0x46]
/** `=` and two digits. */
const ENCODED_LENGTH = 3
const HEX = Buffer.from('0123456789ABCDEF')
/** A byte takes at most three, and each line three more. */
const GROWTH_MAX = 4

/** 1 for bytes that stand for themselves wherever they are, but at the beginning of a line. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) => (byte > SPACE && byte <= TILDE && byte !== EQUALS ? 1 : 0))

/** Line ends of any kind become CRLF. */
export function encodeQuotedPrintable(text: string): Buffer {
  const bytes = Buffer.from(text)
  const out = Buffer.allocUnsafe(bytes.length * GROWTH_MAX + LINE_LENGTH_MAX)
  let length = 0
  /** Where the current line begins in `out`. */
  let lineStart = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (PLAIN[byte] === 1 && length > lineStart && length - lineStart < LINE_LENGTH_MAX - 1) {
      out[length++] = byte
      continue
    }
    const next = bytes[at + 1]
    if (byte === LF || byte === CR) {
      if (byte === CR && next === LF) at++
      out[length++] = CR
      out[length++] = LF
      lineStart = length
      continue
    }
    // The last character of a line that goes on is `=`.
    const room = (isLineEnd(next) ? LINE_LENGTH_MAX : LINE_LENGTH_MAX - 1) - (length - lineStart)
    if (room < ENCODED_LENGTH && (room < 1 || mustEncode(byte, next, false))) {
      out[length++] = EQUALS
      out[length++] = CR
      out[length++] = LF
      lineStart = length
    }
    if (!mustEncode(byte, next, length === lineStart)) out[length++] = byte
    else {
      out[length++] = EQUALS
      out[length++] = HEX[byte >> 4] as number
      out[length++] = HEX[byte & 15] as number
    }
  }
  return out.subarray(0, length)
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === undefined || byte === LF || byte === CR
}

/** Spaces at the end of a line get lost, and some servers change lines that begin with a dot or with `From `. */
function mustEncode(byte: number, next: number | undefined, isFirst: boolean): boolean {
  if (byte === SPACE || byte === TAB) return isLineEnd(next)
  if (byte < SPACE || byte > TILDE || byte === EQUALS) return true
  return isFirst && (byte === DOT || byte === F)
}
