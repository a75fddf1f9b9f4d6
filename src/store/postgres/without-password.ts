// Tells people where a database is, without the password that its address holds.

/** For output that stays in somebody's terminal. Parameters are left out too: one of them may be the password. */
export function withoutPassword(databaseUrl: string): string {
  const url = new URL(databaseUrl)
  url.password = ''
  url.search = ''
  return url.href
}
