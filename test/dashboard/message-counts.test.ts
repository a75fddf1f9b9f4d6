// How far a run is, from its states.
import { expect, it } from 'vitest'
import { countMessages } from '../../dashboard/screens/campaigns/run/message-counts.ts'

it('counts neither removed people nor control groups among the messages of a run', () => {
  const states = { sent: 3, failed: 2, in_doubt: 1, queued: 5, sending: 1, deferred: 4, removed: 700, control: 90 }
  expect(countMessages(states)).toEqual({ done: 6, open: 10, all: 16 })
  expect(countMessages({ queued: 4_847, removed: 3_771, control: 1_276 })).toEqual({ done: 0, open: 4_847, all: 4_847 })
})
