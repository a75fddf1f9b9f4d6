// A store whose tables are those of an older version.
import { openDatabase, type DatabasePlace } from '../src/store/open-database.ts'

const TAKEN_BACK = '0031-order-of-identities'

/** Undoes a step of the migrations. */
export async function makeOlder(place: DatabasePlace): Promise<void> {
  const database = openDatabase(place)
  await database.changeTables(async ({ query }) => {
    await query.schema.alterTable('user_identities').dropColumn('seen_number').execute()
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
