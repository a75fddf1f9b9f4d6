// How many uploads are taken in at once, of all workspaces and of each.
import { expect, it } from 'vitest'
import { UPLOAD_PLACES_MAX, UPLOADS_PER_WORKSPACE_MAX, UploadPlaces } from '../src/operations/coupons/upload-places.ts'

const REFUSED = { code: 'unavailable' }
const finish = async () => 'done'

it('leaves places to others, however many uploads of one workspace stand still', async () => {
  const places = new UploadPlaces()
  const still = Promise.withResolvers<string>()
  const uploads = Array.from({ length: UPLOADS_PER_WORKSPACE_MAX }, () => places.during('main', () => still.promise))
  await expect(places.during('main', finish)).rejects.toMatchObject(REFUSED)
  await expect(places.during('other', finish)).resolves.toBe('done')
  still.reject(new Error('given up'))
  await Promise.allSettled(uploads)
  await expect(places.during('main', finish)).resolves.toBe('done')
})

it('has so many for all workspaces together', async () => {
  const places = new UploadPlaces()
  const still = Promise.withResolvers<string>()
  const uploads = Array.from({ length: UPLOAD_PLACES_MAX }, (_, index) => {
    return places.during(`workspace-${Math.floor(index / 2)}`, () => still.promise)
  })
  await expect(places.during('main', finish)).rejects.toMatchObject(REFUSED)
  still.resolve('done')
  await Promise.all(uploads)
  await expect(places.during('main', finish)).resolves.toBe('done')
})
