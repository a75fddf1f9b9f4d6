// Checks how hits are judged ("Machines"): one case per rule.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  contextOf,
  findBursts,
  JUDGED_AFTER_MS,
  judgeHit,
  type HitVerdict,
  type RawHit,
} from '../../../src/core/links/judge-hits.ts'

const AT = 1_000_000
const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36'
const GMAIL = 'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)'
const YAHOO = 'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html'

function hit(rest: Partial<RawHit> = {}): RawHit {
  return { id: 1, kind: 'click', link: 1, at: AT, ip: '192.0.2.1', userAgent: BROWSER, isAutomatic: false, ...rest }
}

const open = (rest: Partial<RawHit> = {}) => hit({ kind: 'open', link: 0, ...rest })

/** Clicks on links 1, 2, … at these times after `AT`. */
const clicksAt = (...times: readonly number[]) => times.map((after, index) => hit({ link: index + 1, at: AT + after }))

function judge(judged: RawHit, clicks: readonly RawHit[] = []): HitVerdict {
  const { since, until } = contextOf(judged)
  const context = clicks.filter(({ kind, at }) => kind === 'click' && at >= since && at <= until)
  const isMachineAddress = (ip: string, kind: string) =>
    ip === '203.0.113.1' || (ip === '198.51.100.1' && kind === 'click')
  return judgeHit(judged, { bursts: findBursts(context), isMachineAddress })
}

describe('One hit', () => {
  it.each<[string, RawHit, HitVerdict]>([
    ['a click in a browser', hit(), 'person'],
    ['an open in a browser', open(), 'person'],
    [
      'Thunderbird',
      open({ userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.0' }),
      'person',
    ],
    [
      'Outlook',
      open({ userAgent: 'Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; Microsoft Outlook 16.0)' }),
      'person',
    ],
    [
      'a phone whose maker is Cubot',
      hit({ userAgent: 'Mozilla/5.0 (Linux; Android 9; CUBOT X19) Chrome/120 Mobile' }),
      'person',
    ],
    ['HEAD or a prefetch', hit({ isAutomatic: true }), 'machine'],
    ['an open by HEAD through a proxy', open({ isAutomatic: true, userAgent: GMAIL }), 'machine'],
    ['no user agent', hit({ userAgent: null }), 'machine'],
    ['an empty user agent', open({ userAgent: '  ' }), 'machine'],
    ['curl', hit({ userAgent: 'curl/8.5.0' }), 'machine'],
    ['Python', hit({ userAgent: 'python-requests/2.32.3' }), 'machine'],
    ['Go', open({ userAgent: 'Go-http-client/1.1' }), 'machine'],
    ['a headless browser', hit({ userAgent: BROWSER.replace('Chrome', 'HeadlessChrome') }), 'machine'],
    ['a preview', hit({ userAgent: 'Mozilla/5.0 (Windows NT 6.1) SkypeUriPreview Preview/0.5' }), 'machine'],
    [
      'a crawler',
      hit({ userAgent: 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)' }),
      'machine',
    ],
    ['an open through Gmail', open({ userAgent: GMAIL }), 'proxy'],
    ['an open through Yahoo', open({ userAgent: YAHOO }), 'proxy'],
    ['an open through Mail Privacy Protection', open({ userAgent: 'Mozilla/5.0' }), 'proxy'],
    ['a click with the user agent of a proxy', hit({ userAgent: GMAIL }), 'person'],
    ['a click from a listed address', hit({ ip: '203.0.113.1' }), 'machine'],
    ['an open from a listed address', open({ ip: '203.0.113.1' }), 'machine'],
    ['a click from an address listed for clicks', hit({ ip: '198.51.100.1' }), 'machine'],
    ['an open from an address listed for clicks', open({ ip: '198.51.100.1' }), 'person'],
  ])('%s: %o is %s', (_what, judged, verdict) => {
    expect(judge(judged)).toBe(verdict)
  })
})

describe('A burst', () => {
  it('of three links within two seconds is a machine, the first click too', () => {
    const clicks = clicksAt(0, 1_000, 2_000)
    expect(clicks.map((click) => judge(click, clicks))).toEqual(['machine', 'machine', 'machine'])
  })

  it.each<[string, RawHit[]]>([
    ['takes longer', clicksAt(0, 1_000, 2_001)],
    ['has two links', clicksAt(0, 1_000)],
    ['repeats a link', [...clicksAt(0, 500), hit({ at: AT + 700 }), hit({ at: AT + 900 })]],
    ['is spread', clicksAt(0, 1_900, 3_900, 5_900)],
  ])('is none if it %s', (_why, clicks) => {
    for (const click of clicks) expect(judge(click, clicks)).toBe('person')
  })

  it.each<[string, RawHit, HitVerdict]>([
    ['a click that no window has in common with it', hit({ at: AT - 2_001 }), 'person'],
    ['a repeated click in it', hit({ at: AT + 10 }), 'machine'],
    ['a click ten seconds after it', hit({ at: AT + 200 + 10_000 }), 'machine'],
    ['a later click', hit({ at: AT + 200 + 10_001 }), 'person'],
    ['an open eight seconds before it', open({ at: AT - 8_000 }), 'machine'],
    ['an earlier open', open({ at: AT - 8_001 }), 'person'],
    ['an open in it', open({ at: AT + 100 }), 'machine'],
    ['an open through a proxy in it', open({ at: AT + 100, userAgent: GMAIL }), 'machine'],
    ['an open ten seconds after it', open({ at: AT + 200 + 10_000 }), 'machine'],
    ['a later open', open({ at: AT + 200 + 10_001 }), 'person'],
  ])('taints its message: %s', (_what, judged, verdict) => {
    const clicks = [...clicksAt(0, 100, 200), judged]
    expect(judge(judged, clicks)).toBe(verdict)
  })

  it.each(['open', 'click'] as const)('is known when an %s is judged', (kind) => {
    expect(contextOf({ kind, at: AT }).until).toBeLessThanOrEqual(AT + JUDGED_AFTER_MS)
  })

  it('is found whatever the order of the clicks', () => {
    const clicks = clicksAt(0, 100, 200, 5_000, 5_100, 5_200)
    expect(findBursts(clicks.toReversed())).toEqual(findBursts(clicks))
  })

  it('is what a recount over all windows finds, with no more clicks than the context has', () => {
    const click = fc.record({ link: fc.integer({ min: 1, max: 4 }), after: fc.integer({ min: 0, max: 30_000 }) })
    fc.assert(
      fc.property(
        fc.array(click, { maxLength: 25 }),
        fc.integer({ min: 0, max: 30_000 }),
        fc.boolean(),
        (made, after, isOpen) => {
          const clicks = made.map(({ link, after: time }) => hit({ link, at: AT + time }))
          const judged = isOpen ? open({ at: AT + after }) : hit({ at: AT + after, link: 1 })
          const all = isOpen ? clicks : [...clicks, judged]
          expect(judge(judged, all)).toBe(isTaintedByRecount(judged, all) ? 'machine' : 'person')
        },
      ),
      { numRuns: 500 },
    )
  })
})

/** Every window of two seconds that begins with a click. */
function isTaintedByRecount(judged: RawHit, clicks: readonly RawHit[]): boolean {
  return clicks.some(({ at: start }) => {
    const inWindow = clicks.filter(({ at }) => at >= start && at <= start + 2_000)
    if (new Set(inWindow.map(({ link }) => link)).size < 3) return false
    const end = Math.max(...inWindow.map(({ at }) => at))
    return judged.at >= (judged.kind === 'open' ? start - 8_000 : start) && judged.at <= end + 10_000
  })
}
