// A store whose tables are those of an older version.
import { sql } from 'kysely'
import { openDatabase, type DatabasePlace } from '../src/store/open-database.ts'

const TAKEN_BACK = '0029-identities-in-order'

/** Takes a step of the migrations back. */
export async function makeOlder(place: DatabasePlace): Promise<void> {
  const database = openDatabase(place)
  await database.changeTables(async ({ query }) => {
    await sql`drop index user_identities_of_user`.execute(query)
    await sql`create index user_identities_by_name on user_identities (user_id, name, value)`.execute(query)
    await query.deleteFrom('migrations').where('name', '=', TAKEN_BACK).execute()
  })
  await database.close()
}

/** Whether the step is still to be done. */
export async function isOlder(place: DatabasePlace): Promise<boolean> {
  const database = openDatabase(place)
  const applied = database.query.selectFrom('migrations').select('name').where('name', '=', TAKEN_BACK)
  const found = await applied.executeTakeFirst()
  await database.close()
  return found === undefined
}
