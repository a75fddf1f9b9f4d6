// Checks what a migration makes of the campaigns that an older version has stored, on every store.
import { expect, it } from 'vitest'
import { findCampaign, removeUnreportedCampaign } from '../../../src/store/campaigns/campaigns.ts'
import { migrate, MIGRATIONS } from '../../../src/store/migrations.ts'
import { openDatabase } from '../../../src/store/open-database.ts'
import { describeEachStore, makeLocation } from '../../support/stores.ts'

const OLD = {
  number: 1,
  id: 'old',
  workspace_id: 'main',
  name: 'Old',
  platforms: '[]',
  goals: '[]',
  counted_goals: '[]',
  counted_generation: 1,
  pending_generation: null,
  created_by: 'anna',
  created_at: 1,
  updated_by: null,
  updated_at: 1,
}

describeEachStore('A campaign of an older version', (kind) => {
  it('is not archived and cannot be deleted, because the log may have reports for it', async () => {
    const location = await makeLocation(kind)
    const database = openDatabase(location)
    try {
      await migrate(database, 1, undefined, Object.fromEntries(Object.entries(MIGRATIONS).slice(0, 1)))
      await database.write(({ query }) =>
        query
          .insertInto('campaigns')
          .values(OLD as never)
          .execute(),
      )
      await migrate(database, 2)
      const campaign = await findCampaign(database, 'main', 'old')
      expect(campaign).toMatchObject({ archivedAt: null, isReported: true })
      expect(await database.write((store) => removeUnreportedCampaign(store, 1))).toBe(false)
    } finally {
      await database.close()
      await location.remove()
    }
  })
})
