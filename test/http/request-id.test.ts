// The generator of request ids.
import { expect, it } from 'vitest'
import { newRequestId } from '../../src/http/requests/request-id.ts'

it('request ids are unique UUIDs of version 7 that begin with the time', () => {
  const earliest = Date.now()
  const ids = Array.from({ length: 10_000 }, () => newRequestId())
  const latest = Date.now()
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    const instant = Number.parseInt(id.slice(0, 13).replace('-', ''), 16)
    expect(instant).toBeGreaterThanOrEqual(earliest)
    expect(instant).toBeLessThanOrEqual(latest)
  }
})
