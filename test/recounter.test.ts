// How the recounter ends: whoever stops a process does not wait for a pause.
import { expect, it } from 'vitest'
import { Recounter } from '../src/pipeline/recounter.ts'
import { makePlace, openTestDatabase } from './stores.ts'

/** Each failure doubles the pause after it, the first of which is 400 ms. */
const FAILURES = 2
const SECOND_PAUSE_MS = 800

it('The recounter stops at once in the middle of a pause', async () => {
  const place = await makePlace('sqlite')
  const database = await openTestDatabase(place)
  await database.close()
  const hasFailed = Promise.withResolvers<void>()
  let failures = 0
  const recounter = new Recounter({
    database,
    clock: Date.now,
    onFailure: () => void (++failures >= FAILURES && hasFailed.resolve()),
  })
  recounter.start()
  await hasFailed.promise
  const stoppedAt = performance.now()
  await recounter.stop()
  expect(performance.now() - stoppedAt).toBeLessThan(SECOND_PAUSE_MS / 2)
  await place.remove()
})
