// How many long requests can run at once, in total and per workspace.
import { expect, it } from 'vitest'
import { Slots, UPLOAD_SLOTS } from '../../src/operations/slots.ts'

const REFUSED = { code: 'unavailable' }
const finish = async () => 'done'

it('stalled uploads of one workspace leave slots for other workspaces', async () => {
  const slots = new Slots(UPLOAD_SLOTS)
  const still = Promise.withResolvers<string>()
  const uploads = Array.from({ length: UPLOAD_SLOTS.slotsPerWorkspaceMax }, () =>
    slots.run('main', () => still.promise),
  )
  await expect(slots.run('main', finish)).rejects.toMatchObject(REFUSED)
  await expect(slots.run('other', finish)).resolves.toBe('done')
  still.reject(new Error('given up'))
  await Promise.allSettled(uploads)
  await expect(slots.run('main', finish)).resolves.toBe('done')
})

it('all workspaces together have a limited number of slots', async () => {
  const slots = new Slots(UPLOAD_SLOTS)
  const still = Promise.withResolvers<string>()
  const uploads = Array.from({ length: UPLOAD_SLOTS.slotsMax }, (_, index) => {
    return slots.run(`workspace-${Math.floor(index / 2)}`, () => still.promise)
  })
  await expect(slots.run('main', finish)).rejects.toMatchObject(REFUSED)
  still.resolve('done')
  await Promise.all(uploads)
  await expect(slots.run('main', finish)).resolves.toBe('done')
})
