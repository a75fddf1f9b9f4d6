// The attachments of a run come back as they were stored.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addRunAttachments, listRunAttachments } from '../../../src/store/delivery/run-attachments.ts'
import type { Database } from '../../../src/store/store.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

describeEachStore('The attachments of a run', (kind) => {
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

  it('come back byte for byte, in the order of their numbers, for their run only', async () => {
    const attachments = [1, 2].map((number) => ({
      number,
      name: `Übersicht ${number}.pdf`,
      type: 'application/pdf',
      content: Uint8Array.from({ length: 1_000 }, (_, at) => (at * number) % 256),
    }))
    await database.write((store) => addRunAttachments(store, 1, attachments.toReversed()))
    expect(await listRunAttachments(database, 1)).toEqual(attachments)
    expect(await listRunAttachments(database, 2)).toEqual([])
  })
})
