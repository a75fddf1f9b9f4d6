// What users did, newest first, where one person may have very many ids: asks for a limited number of ids in each statement,
// and keeps only the newest of all that they give.

/** For how many users one statement walks along the index, a part for each; SQLite takes up to 500 parts in a statement. */
export const USERS_PER_WALK = 100
/** For how many users one statement finds the newest row: that takes some 5 ms. */
export const USERS_PER_LOOKUP = 2_000

interface Search<Row> {
  readonly usersPerStatement: number
  readonly read: (userIds: readonly number[]) => Promise<readonly Row[]>
  readonly newerFirst: (left: Row, right: Row) => number
  readonly max: number
}

/** The `max` newest of the rows that are read, newest first. */
export async function findNewest<Row>(userIds: readonly number[], search: Search<Row>): Promise<Row[]> {
  const { usersPerStatement, read, newerFirst, max } = search
  let found: Row[] = []
  for (let start = 0; start < userIds.length; start += usersPerStatement) {
    const rows = await read(userIds.slice(start, start + usersPerStatement))
    found = [...found, ...rows].toSorted(newerFirst).slice(0, max)
  }
  return found
}

/** Whether there are so few ids that all are walked through: finding out which ones a page needs would take as long. */
export function areFew(userIds: readonly number[], max: number): boolean {
  return userIds.length <= Math.max(USERS_PER_WALK, max)
}
