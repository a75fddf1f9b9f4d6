// Finds the newest rows of a user with very many ids: reads a limited number of ids with each statement, and keeps only the newest
// rows of all statements.

/** User ids of a statement that reads pages: it has one `union all` term for each, and SQLite allows 500 terms. */
export const USERS_PER_WALK = 100
/** User ids of a statement that reads only the newest row of each: it takes some 5 ms. */
export const USERS_PER_LOOKUP = 2_000

interface Search<Row> {
  readonly usersPerStatement: number
  readonly read: (userIds: readonly number[]) => Promise<readonly Row[]>
  readonly newerFirst: (left: Row, right: Row) => number
  readonly max: number
}

/** The `max` newest rows of all ids, newest first. */
export async function findNewest<Row>(userIds: readonly number[], search: Search<Row>): Promise<Row[]> {
  const { usersPerStatement, read, newerFirst, max } = search
  let found: Row[] = []
  for (let start = 0; start < userIds.length; start += usersPerStatement) {
    const rows = await read(userIds.slice(start, start + usersPerStatement))
    found = [...found, ...rows].toSorted(newerFirst).slice(0, max)
  }
  return found
}

/** Whether there are so few ids that a page reads all of them: finding the ids that it needs would take as long. */
export function areFew(userIds: readonly number[], max: number): boolean {
  return userIds.length <= Math.max(USERS_PER_WALK, max)
}
