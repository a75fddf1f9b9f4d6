// Domains that a sender leaves alone for a while.
import { describe, expect, it } from 'vitest'
import { DomainWaits } from '../../../src/delivery/smtp/domain-waits.ts'

const MINUTE_MS = 60_000
/** In the middle of the jitter. */
const domainWaits = () => new DomainWaits(() => 0.5)

describe('a domain that waits', () => {
  it('waits 5 minutes, doubling until the server takes a message', () => {
    const waits = domainWaits()
    let now = 0
    for (const minutes of [5, 10, 20, 40]) {
      expect(waits.begin('a.test', now)).toBe(now + minutes * MINUTE_MS)
      expect(waits.until('a.test', now + minutes * MINUTE_MS - 1)).toBe(now + minutes * MINUTE_MS)
      now += minutes * MINUTE_MS
      expect(waits.until('a.test', now)).toBeUndefined()
    }
    waits.clear('a.test')
    expect(waits.begin('a.test', now)).toBe(now + 5 * MINUTE_MS)
  })

  it('counts the refusals of one moment once', () => {
    const waits = domainWaits()
    const until = waits.begin('a.test', 0)
    expect(waits.begin('a.test', 10)).toBe(until)
  })

  it('holds back no other domain', () => {
    const waits = domainWaits()
    waits.begin('a.test', 0)
    expect(waits.until('b.test', 0)).toBeUndefined()
  })

  it('is forgotten when 10,000 others began to wait later', () => {
    const waits = domainWaits()
    for (let number = 0; number <= 10_000; number++) waits.begin(`${number}.test`, 0)
    expect(waits.until('0.test', 1)).toBeUndefined()
    expect(waits.until('1.test', 1)).toBeDefined()
    expect(waits.until('10000.test', 1)).toBeDefined()
  })
})
