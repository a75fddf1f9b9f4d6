// Removes the password from the URL of a database, for output that people see.

/** Also removes the parameters: one of them may be the password. */
export function withoutPassword(databaseUrl: string): string {
  const url = new URL(databaseUrl)
  url.password = ''
  url.search = ''
  return url.href
}
