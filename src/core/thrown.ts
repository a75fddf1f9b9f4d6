// Reads message and code of a caught value: JavaScript can throw anything, and Node and drivers add members to their errors.

/** The message of an error, or the value as text. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** The code that Node or a driver gave it, such as `ENOENT`; undefined if there is none. */
export function codeOf(thrown: unknown): string | undefined {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  return typeof code === 'string' ? code : undefined
}
