// How long the pipeline gathers entries between batches, and rests while the processors are busy.
import { expect, it } from 'vitest'
import { pauseAfter, restAfter } from '../src/pipeline/pace.ts'

it.each([
  { what: 'no processor was missing', events: 3_000, elapsedMs: 20, waitedMs: 0, restMs: 0 },
  { what: 'one was missing for a moment', events: 3_000, elapsedMs: 20, waitedMs: 2, restMs: 0 },
  { what: 'one was missing for longer', events: 3_000, elapsedMs: 20, waitedMs: 3, restMs: 80 },
  { what: 'the batch took as long as it may', events: 3_000, elapsedMs: 100, waitedMs: 50, restMs: 0 },
  { what: 'the batch took longer', events: 3_000, elapsedMs: 500, waitedMs: 400, restMs: 0 },
  { what: 'nothing was applied', events: 0, elapsedMs: 5, waitedMs: 4, restMs: 0 },
])('rests $restMs ms when $what', ({ restMs, ...work }) => {
  expect(restAfter(work)).toBe(restMs)
})

it.each([
  { what: 'took no time worth speaking of', batchMs: 0, pauseMs: 40 },
  { what: 'leaves an event as long as it may wait', batchMs: 30, pauseMs: 40 },
  { what: 'would make an event wait longer', batchMs: 35, pauseMs: 30 },
  { what: 'took all of that', batchMs: 50, pauseMs: 10 },
  { what: 'was tried again and again', batchMs: 5_000, pauseMs: 10 },
])('gathers for $pauseMs ms after a batch that $what', ({ batchMs, pauseMs }) => {
  expect(pauseAfter(batchMs)).toBe(pauseMs)
})
