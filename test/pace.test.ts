// How long the pipeline rests while the processors are busy.
import { expect, it } from 'vitest'
import { restAfter } from '../src/pipeline/pace.ts'

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
