// What a caught value tells: JavaScript can throw anything, and Node and drivers add members to their errors.

/** What is wrong, in the words of whoever threw it. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** The code that Node or a driver gave it, such as `ENOENT`; undefined where there is none. */
export function codeOf(thrown: unknown): string | undefined {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  return typeof code === 'string' ? code : undefined
}
