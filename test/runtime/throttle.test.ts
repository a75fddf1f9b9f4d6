// How long a background thread gathers work between batches, and backs off while the CPUs are busy.
import { expect, it } from 'vitest'
import { gatherMsAfter, backOffMsAfter } from '../../src/runtime/throttle.ts'

it.each([
  { what: 'no processor was missing', items: 3_000, elapsedMs: 20, waitedMs: 0, backOffMs: 0 },
  { what: 'one was missing for a moment', items: 3_000, elapsedMs: 20, waitedMs: 2, backOffMs: 0 },
  { what: 'one was missing for longer', items: 3_000, elapsedMs: 20, waitedMs: 3, backOffMs: 105 },
  { what: 'the batch took as long as it may', items: 3_000, elapsedMs: 125, waitedMs: 50, backOffMs: 0 },
  { what: 'the batch took longer', items: 3_000, elapsedMs: 500, waitedMs: 400, backOffMs: 0 },
  { what: 'nothing was applied', items: 0, elapsedMs: 5, waitedMs: 4, backOffMs: 0 },
])('backs off for $backOffMs ms when $what', ({ backOffMs, ...work }) => {
  expect(backOffMsAfter(work)).toBe(backOffMs)
})

it.each([
  { what: 'took no time worth speaking of', elapsedMs: 0, gatherMs: 40 },
  { what: 'leaves an event as long as it may wait', elapsedMs: 30, gatherMs: 40 },
  { what: 'would make an event wait longer', elapsedMs: 35, gatherMs: 30 },
  { what: 'took all of that', elapsedMs: 50, gatherMs: 10 },
  { what: 'was tried again and again', elapsedMs: 5_000, gatherMs: 10 },
  { what: 'had to wait for a processor for a moment', elapsedMs: 30, waitedMs: 3, gatherMs: 40 },
  { what: 'had to wait for a processor', elapsedMs: 30, waitedMs: 4, gatherMs: 300 },
  { what: 'had to, and leaves an event as long as it may wait then', elapsedMs: 200, waitedMs: 50, gatherMs: 300 },
  { what: 'had to, and would make an event wait longer', elapsedMs: 250, waitedMs: 50, gatherMs: 200 },
  { what: 'had to, and took all of that', elapsedMs: 350, waitedMs: 50, gatherMs: 10 },
])('gathers for $gatherMs ms after a batch that $what', ({ elapsedMs, waitedMs = 0, gatherMs }) => {
  expect(gatherMsAfter({ items: 1_000, elapsedMs, waitedMs })).toBe(gatherMs)
})
