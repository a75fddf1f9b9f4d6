// How many uploads can run at once, in total and per workspace.
import { expect, it } from 'vitest'
import { UPLOAD_SLOTS_MAX, UPLOADS_PER_WORKSPACE_MAX, UploadSlots } from '../../src/operations/coupons/upload-slots.ts'

const REFUSED = { code: 'unavailable' }
const finish = async () => 'done'

it('stalled uploads of one workspace leave slots for other workspaces', async () => {
  const slots = new UploadSlots()
  const still = Promise.withResolvers<string>()
  const uploads = Array.from({ length: UPLOADS_PER_WORKSPACE_MAX }, () => slots.run('main', () => still.promise))
  await expect(slots.run('main', finish)).rejects.toMatchObject(REFUSED)
  await expect(slots.run('other', finish)).resolves.toBe('done')
  still.reject(new Error('given up'))
  await Promise.allSettled(uploads)
  await expect(slots.run('main', finish)).resolves.toBe('done')
})

it('all workspaces together have a limited number of slots', async () => {
  const slots = new UploadSlots()
  const still = Promise.withResolvers<string>()
  const uploads = Array.from({ length: UPLOAD_SLOTS_MAX }, (_, index) => {
    return slots.run(`workspace-${Math.floor(index / 2)}`, () => still.promise)
  })
  await expect(slots.run('main', finish)).rejects.toMatchObject(REFUSED)
  still.resolve('done')
  await Promise.all(uploads)
  await expect(slots.run('main', finish)).resolves.toBe('done')
})
