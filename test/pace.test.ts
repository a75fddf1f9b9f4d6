// How long the pipeline gathers entries between batches, and rests while the processors are busy.
import { expect, it } from 'vitest'
import { pauseAfter, restAfter } from '../src/pipeline/follower/pace.ts'

it.each([
  { what: 'no processor was missing', events: 3_000, elapsedMs: 20, waitedMs: 0, restMs: 0 },
  { what: 'one was missing for a moment', events: 3_000, elapsedMs: 20, waitedMs: 2, restMs: 0 },
  { what: 'one was missing for longer', events: 3_000, elapsedMs: 20, waitedMs: 3, restMs: 105 },
  { what: 'the batch took as long as it may', events: 3_000, elapsedMs: 125, waitedMs: 50, restMs: 0 },
  { what: 'the batch took longer', events: 3_000, elapsedMs: 500, waitedMs: 400, restMs: 0 },
  { what: 'nothing was applied', events: 0, elapsedMs: 5, waitedMs: 4, restMs: 0 },
])('rests $restMs ms when $what', ({ restMs, ...work }) => {
  expect(restAfter(work)).toBe(restMs)
})

it.each([
  { what: 'took no time worth speaking of', elapsedMs: 0, pauseMs: 40 },
  { what: 'leaves an event as long as it may wait', elapsedMs: 30, pauseMs: 40 },
  { what: 'would make an event wait longer', elapsedMs: 35, pauseMs: 30 },
  { what: 'took all of that', elapsedMs: 50, pauseMs: 10 },
  { what: 'was tried again and again', elapsedMs: 5_000, pauseMs: 10 },
  { what: 'had to wait for a processor for a moment', elapsedMs: 30, waitedMs: 3, pauseMs: 40 },
  { what: 'had to wait for a processor', elapsedMs: 30, waitedMs: 4, pauseMs: 300 },
  { what: 'had to, and leaves an event as long as it may wait then', elapsedMs: 200, waitedMs: 50, pauseMs: 300 },
  { what: 'had to, and would make an event wait longer', elapsedMs: 250, waitedMs: 50, pauseMs: 200 },
  { what: 'had to, and took all of that', elapsedMs: 350, waitedMs: 50, pauseMs: 10 },
])('gathers for $pauseMs ms after a batch that $what', ({ elapsedMs, waitedMs = 0, pauseMs }) => {
  expect(pauseAfter({ events: 1_000, elapsedMs, waitedMs })).toBe(pauseMs)
})
