// Decodes the values of a query: percent-encoded UTF-8, some of them integers. Fastify leaves a value that it cannot decode as it
// is.
import type { TObject } from 'typebox'

type Query = Readonly<Record<string, unknown>>

const WHOLE = /^-?\d+$/

/** The members of a query that are whole numbers. */
export function integersOf({ properties }: TObject): readonly string[] {
  return Object.keys(properties).filter((name) => (properties[name] as { type?: unknown }).type === 'integer')
}

/**
 * The query with the whole numbers that `integersOf` names converted. Other texts that JavaScript reads as numbers stay texts and
 * are refused: Ajv's own conversion would accept `-Infinity` as an integer within all bounds.
 */
export function readIntegers(names: readonly string[], query: Query): Query {
  const whole = names.filter((name) => {
    const text = query[name]
    return typeof text === 'string' && WHOLE.test(text)
  })
  return whole.length === 0
    ? query
    : { ...query, ...Object.fromEntries(whole.map((name) => [name, Number(query[name])])) }
}

/** The names in the query of a URL whose values cannot be decoded. */
export function undecodableNames(url: string): string[] {
  const start = url.indexOf('?') + 1
  if (start === 0 || !url.includes('%', start)) return []
  const pairs = url.slice(start).split('&')
  return pairs.flatMap((pair) => {
    const [name = ''] = pair.split('=', 1)
    const isRight = decode(pair.slice(name.length + 1)) !== undefined
    return isRight ? [] : [decode(name) ?? name]
  })
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
