// Words that are compared without case: only ASCII letters have one, for some others become ASCII in capitals, such as ı and ſ.

/** The text with its ASCII letters in capitals. */
export function toAsciiCapitals(text: string): string {
  return text.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase())
}
