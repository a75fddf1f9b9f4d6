// A store that lacks a migration, as an older version leaves it. There is only one so far: this one is from before it.
import { openDatabase, type DatabaseLocation } from '../../src/store/open-database.ts'

/** Undoes the first migration, apart from the tables in `kept`; a log in the same database stays. */
export async function makeOlder(place: DatabaseLocation, kept: readonly string[] = []): Promise<void> {
  const database = openDatabase(place)
  await database.changeTables(async ({ query }) => {
    for (const { name } of await query.introspection.getTables()) {
      const stays = name === 'migrations' || name.startsWith('log_') || kept.includes(name)
      if (!stays) await query.schema.dropTable(name).execute()
    }
    await query.deleteFrom('migrations').execute()
  })
  await database.close()
}

/** Whether the migration is still to be applied. */
export async function isOlder(place: DatabaseLocation): Promise<boolean> {
  const database = openDatabase(place)
  const applied = await database.query.selectFrom('migrations').select('name').execute()
  await database.close()
  return applied.length === 0
}

/** Makes the migrations of a store those of a draft of the first version. */
export async function makeDraft(place: DatabaseLocation): Promise<void> {
  const database = openDatabase(place)
  await database.write(async ({ query }) => {
    await query.deleteFrom('migrations').execute()
    const names = ['0001-workspaces', '0002-users']
    await query
      .insertInto('migrations')
      .values(names.map((name) => ({ name, applied_at: 1 })))
      .execute()
  })
  await database.close()
}
