// Converts ASCII letters to capitals, to compare words without case. `toUpperCase` would turn other letters, such as ı and ſ, into
// ASCII.

/** The text with its ASCII letters in capitals. */
export function toAsciiCapitals(text: string): string {
  return text.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase())
}
