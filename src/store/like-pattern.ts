// Patterns of `like` for texts that contain another one, and the comparison without case in ASCII letters.
import { sql, type RawBuilder } from 'kysely'
import { toAsciiCapitals } from '../core/ascii-capitals.ts'

/** The pattern of `like` for texts that contain this one. Use it with `escape '\'`. */
export function containsPattern(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
}

/** Whether a column contains a text without regard to the case of ASCII letters. Both databases capitalise only these. */
export function containsText(column: string, text: string): RawBuilder<boolean> {
  return sql<boolean>`upper(${sql.ref(column)}) like ${containsPattern(toAsciiCapitals(text))} escape '\\'`
}
