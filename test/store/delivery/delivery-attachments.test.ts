// The attachments of a campaign come back as they were stored.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addDeliveryAttachments, listDeliveryAttachments } from '../../../src/store/delivery/delivery-attachments.ts'
import type { Database } from '../../../src/store/store.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

describeEachStore('The attachments of a campaign', (kind) => {
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

  it('come back byte for byte, in the order in which they were added, for their campaign only', async () => {
    const files = [1, 2].map((number) => ({
      url: `https://files.example.com/${number}.pdf`,
      type: 'application/pdf',
      content: Uint8Array.from({ length: 1_000 }, (_, at) => (at * number) % 256),
    }))
    await database.write((store) => addDeliveryAttachments(store, 1, files.toReversed()))
    expect(await listDeliveryAttachments(database, 1)).toEqual(files.toReversed())
    expect(await listDeliveryAttachments(database, 2)).toEqual([])
  })
})
