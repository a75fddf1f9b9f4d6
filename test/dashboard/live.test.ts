// How the dashboard follows changes: it asks while somebody sees the page, and fetches what has changed. Node has no page: one that can be
// hidden stands in for it, and the clock is the test's.
import { QueryObserver } from '@tanstack/query-core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Client } from '../../dashboard/data/client.ts'
import { Live } from '../../dashboard/data/live.ts'
import { newQueryClient } from '../../dashboard/data/queries.ts'
import { SessionGate } from '../../dashboard/data/session-gate.ts'
import { changedTopics, type LiveDocument } from '../../dashboard/data/topics.ts'

const QUIET: LiveDocument = {
  newest_event: 1,
  newest_audit: 1,
  parked: 0,
  processed_until: null,
  lag_seconds: 0,
  statistics_revision: 1,
  messages_revision: 1,
  events_per_minute: 0,
}

class Page extends EventTarget {
  visibilityState = 'visible'

  turn(visibilityState: 'visible' | 'hidden'): void {
    this.visibilityState = visibilityState
    this.dispatchEvent(new Event('visibilitychange'))
  }
}

describe('The live document', () => {
  let page: Page
  let workspace: string | undefined
  let answer: () => Promise<LiveDocument>
  let asked: number
  let live: Live
  let stop: () => void
  const queries = newQueryClient()

  beforeEach(() => {
    vi.useFakeTimers()
    page = new Page()
    vi.stubGlobal('document', page)
    workspace = 'main'
    asked = 0
    answer = async () => QUIET
    const client = new Client({ workspace: () => workspace, gate: new SessionGate() })
    live = new Live({ client, queries, ask: () => (asked++, answer()) })
  })
  afterEach(() => {
    stop()
    queries.clear()
    vi.useRealTimers()
    vi.unstubAllGlobals()
  })

  const start = async () => {
    stop = live.start()
    await pass(0)
  }
  const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1_000)

  it('is asked for every two seconds while the page is visible, and at once when it is again', async () => {
    await start()
    expect([asked, live.state]).toEqual([1, { document: QUIET, heardAt: Date.now(), error: undefined }])
    await pass(6)
    expect(asked).toBe(4)
    page.turn('hidden')
    await pass(60)
    expect(asked).toBe(4)
    page.turn('visible')
    await pass(0)
    expect(asked).toBe(5)
    stop()
    await pass(60)
    expect(asked).toBe(5)
  })

  it('makes what has changed be fetched again, and nothing else', async () => {
    const fetched: string[] = []
    const watch = (topic: string) => {
      const queryFn = async () => fetched.push(topic)
      return new QueryObserver(queries, { queryKey: [topic], queryFn, meta: { topics: [topic] } }).subscribe(() => {})
    }
    const leave = ['events', 'audit'].map(watch)
    await start()
    expect(fetched).toEqual(['events', 'audit'])
    answer = async () => ({ ...QUIET, newest_event: 2 })
    await pass(10)
    expect(fetched).toEqual(['events', 'audit', 'events'])
    leave.forEach((end) => end())
  })

  it('is asked for again only when what has changed is there', async () => {
    const slow = Promise.withResolvers<void>()
    let times = 0
    const queryFn = () => (++times === 1 ? Promise.resolve(1) : slow.promise.then(() => 2))
    const leave = new QueryObserver(queries, { queryKey: ['s'], queryFn, meta: { topics: ['events'] } }).subscribe(
      () => {},
    )
    let event = 1
    answer = async () => ({ ...QUIET, newest_event: event++ })
    await start()
    await pass(30)
    expect([asked, times]).toEqual([2, 2])
    slow.resolve()
    await pass(2)
    expect([asked, times]).toEqual([3, 3])
    leave()
  })

  it('is asked for more and more seldom after failures, and says so', async () => {
    await start()
    const heard: (string | undefined)[] = []
    const end = live.subscribe(() => heard.push(live.state.error?.message))
    answer = () => Promise.reject(new Error('gone'))
    await pass(2)
    expect([asked, live.state.error?.message, live.state.heardAt]).toEqual([2, 'gone', Date.now() - 2_000])
    expect(live.state.document).toEqual(QUIET)
    await pass(3)
    expect(asked).toBe(2)
    await pass(1)
    expect(asked).toBe(3)
    await pass(600)
    const before = asked
    await pass(59)
    expect(asked - before).toBeLessThanOrEqual(1)
    answer = async () => QUIET
    await pass(60)
    expect([live.state.error, heard[0], heard.at(-1)]).toEqual([undefined, 'gone', undefined])
    end()
  })

  it('is asked for at once when somebody wants it, and then makes what failed meanwhile be fetched again', async () => {
    await start()
    let isGone = true
    let times = 0
    const queryFn = async () => (times++, isGone ? Promise.reject(new Error('gone')) : 1)
    const observer = new QueryObserver(queries, { queryKey: ['f'], queryFn, retry: false })
    const leave = observer.subscribe(() => {})
    answer = () => Promise.reject(new Error('gone'))
    await pass(2)
    const before = asked
    live.askNow()
    await pass(0)
    expect([asked - before, times, live.state.error?.message]).toEqual([1, 1, 'gone'])
    isGone = false
    answer = async () => QUIET
    live.askNow()
    await pass(0)
    expect([times, observer.getCurrentResult().data, live.state.error]).toEqual([2, 1, undefined])
    leave()
  })

  it('of another workspace is another one', async () => {
    await start()
    workspace = 'other'
    answer = () => new Promise(() => {})
    await pass(2)
    expect([asked, live.state.document]).toEqual([2, undefined])
  })

  it('is not asked for where the page is about no workspace', async () => {
    workspace = undefined
    await start()
    await pass(10)
    expect(asked).toBe(0)
  })
})

const changes: [change: Partial<LiveDocument>, topics: string[]][] = [
  [{}, []],
  [{ lag_seconds: 3, events_per_minute: 7, processed_until: '2026-01-01T00:00:00.000Z' }, []],
  [{ newest_event: 2 }, ['events']],
  [{ parked: 1 }, ['parked']],
  [{ messages_revision: 2, statistics_revision: 2, newest_audit: 2 }, ['audit', 'statistics', 'messages']],
]
it.each(changes)('The change %j is one of the topics %j', (change, topics) => {
  expect([...changedTopics(QUIET, { ...QUIET, ...change })]).toEqual(topics)
})
