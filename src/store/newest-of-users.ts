// What users did, newest first, where one person may stand under very many ids: a few of them in one statement, and of all that
// these give only the newest.

/** Users whose rows one statement walks through, each along the index; SQLite takes up to 500 parts in one. */
export const USERS_PER_WALK = 100
/** Users of whom one statement finds the newest row: some 5 ms. */
export const USERS_PER_LOOK = 2_000

interface Search<Row> {
  readonly usersPerStatement: number
  readonly read: (userIds: readonly number[]) => Promise<readonly Row[]>
  readonly newerFirst: (left: Row, right: Row) => number
  readonly max: number
}

/** The `max` newest of what is read of users, newest first. */
export async function findNewest<Row>(userIds: readonly number[], search: Search<Row>): Promise<Row[]> {
  const { usersPerStatement, read, newerFirst, max } = search
  let found: Row[] = []
  for (let start = 0; start < userIds.length; start += usersPerStatement) {
    const rows = await read(userIds.slice(start, start + usersPerStatement))
    found = [...found, ...rows].toSorted(newerFirst).slice(0, max)
  }
  return found
}

/** Whether so few ids are walked through as they are: finding out which of them a page needs would take as long. */
export function areFew(userIds: readonly number[], max: number): boolean {
  return userIds.length <= Math.max(USERS_PER_WALK, max)
}
