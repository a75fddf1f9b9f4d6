// Words that are compared without case. Only ASCII letters change: the capitals of some others, such as ı and ſ, are ASCII.

/** The text with its ASCII letters in capitals. */
export function toAsciiCapitals(text: string): string {
  return text.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase())
}
