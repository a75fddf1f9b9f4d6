// Lists that people type into a field with one item a line.

/** Empty lines and outer spaces do not count. */
export function toLines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
