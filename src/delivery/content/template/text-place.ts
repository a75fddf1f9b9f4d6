// Places in the text of a template, for people who look at it in an editor.

/** Both begin with 1. Columns count UTF-16 code units, as editors in a browser do. */
export interface TextPlace {
  readonly line: number
  readonly column: number
}

/** `offset`: from 0. */
export function placeAt(text: string, offset: number): TextPlace {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}

/** A part of a text, and what stands in its place. */
export interface Replacement {
  readonly begin: number
  readonly end: number
  readonly text: string
}

/** `replacements`: in the order of the text, apart from each other. */
export function replaceParts(text: string, replacements: readonly Replacement[]): string {
  let changed = ''
  let at = 0
  for (const replacement of replacements) {
    changed += text.slice(at, replacement.begin) + replacement.text
    at = replacement.end
  }
  return changed + text.slice(at)
}

/** Where something of the changed text stood before. What stands within a replacement stood where that begins. */
export function originalOffset(offset: number, replacements: readonly Replacement[]): number {
  let moved = 0
  for (const { begin, end, text } of replacements) {
    if (offset < begin + moved) break
    if (offset < begin + moved + text.length) return begin
    moved += text.length - (end - begin)
  }
  return offset - moved
}
