// Makes a store that lacks all migrations, as an older version would leave it, or one that an unreleased draft made.
import { openDatabase, type DatabaseLocation } from '../../src/store/open-database.ts'

/** Undoes all migrations, except for the tables in `kept` and a log in the same database. */
export async function makeOlder(location: DatabaseLocation, kept: readonly string[] = []): Promise<void> {
  const database = openDatabase(location)
  await database.changeTables(async ({ query }) => {
    for (const { name } of await query.introspection.getTables()) {
      const stays = name === 'migrations' || name.startsWith('log_') || kept.includes(name)
      if (!stays) await query.schema.dropTable(name).execute()
    }
    await query.deleteFrom('migrations').execute()
  })
  await database.close()
}

/** Whether the first migration has yet to be applied. */
export async function isOlder(location: DatabaseLocation): Promise<boolean> {
  const database = openDatabase(location)
  const applied = await database.query.selectFrom('migrations').select('name').execute()
  await database.close()
  return applied.length === 0
}

/** Replaces the migrations of a store by those of an unreleased draft. */
export async function makeDraft(location: DatabaseLocation): Promise<void> {
  const database = openDatabase(location)
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
