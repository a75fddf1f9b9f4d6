// Creating a workspace, by a command, the first start or a test: its id is checked wherever it comes from.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createFirstWorkspace, createWorkspace } from '../../../src/actions/create-workspace.ts'
import type { Database } from '../../../src/store/store.ts'
import { listWorkspaces } from '../../../src/store/workspaces/workspaces.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

describeEachStore('A new workspace', (kind) => {
  let location: TestLocation
  let database: Database

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
  })
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  it.each(['sign-in', 'two words'])('cannot have the id %j', async (id) => {
    const refused = {
      code: 'invalid_request',
      message: expect.stringMatching(/^The id of a workspace must /) as string,
    }
    await expect(createWorkspace(database, id, {}, 1)).rejects.toMatchObject(refused)
    await expect(createFirstWorkspace(database, id, 1)).rejects.toMatchObject(refused)
    expect(await listWorkspaces(database)).toEqual([])
  })
})
