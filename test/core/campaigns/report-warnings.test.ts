// Checks which platforms and reasons of reports and campaigns get a warning, and how many warnings are shown.
import { describe, expect, it } from 'vitest'
import { toShownWarnings, WARNINGS_MAX } from '../../../src/core/app-error.ts'
import { platformWarnings, remarksOn, reportWarnings } from '../../../src/core/campaigns/report-warnings.ts'

describe('Warnings about the platforms of a report', () => {
  const problemsOf = (platforms: readonly string[], declared: readonly string[]) => {
    const items = platforms.map((platform) => ({ platform }))
    return reportWarnings(remarksOn(items), 'members', declared).map(({ field, problem }) => [field, problem])
  }

  it.each([['EMAIL'], ['email'], ['Email']])('say nothing of %s for a campaign with EMAIL', (platform) => {
    expect(problemsOf([platform], ['EMAIL'])).toEqual([])
  })

  const others: [sent: string, howCounted: string][] = [
    ['E-MAIL', '1 item with "E-MAIL" is counted as UNKNOWN; did you mean EMAIL?'],
    ['email ', '1 item with "email " is counted as UNKNOWN; did you mean EMAIL?'],
    ['e_mail', '1 item with "e_mail" is counted as UNKNOWN; did you mean EMAIL?'],
    ['I-OS', '1 item with "I-OS" is counted as UNKNOWN; did you mean IOS?'],
    ['SMS', '1 item with "SMS" is counted as UNKNOWN'],
    ['android', '1 item with "android" is counted as ANDROID'],
  ]
  it.each(others)('name %s, how it is counted, and what was probably meant', (sent, howCounted) => {
    expect(problemsOf([sent], ['EMAIL', 'WEB'])).toEqual([
      ['members[0].platform', `is not a platform of the campaign (EMAIL, WEB): ${howCounted}`],
    ])
  })

  it('name each platform once, at its first item, with the number of items', () => {
    expect(problemsOf(['EMAIL', 'TV', 'WEB', 'TV'], ['EMAIL'])).toEqual([
      ['members[1].platform', 'is not a platform of the campaign (EMAIL): 2 items with "TV" are counted as TV'],
      ['members[2].platform', 'is not a platform of the campaign (EMAIL): 1 item with "WEB" is counted as WEB'],
    ])
  })

  it('say nothing of an unknown platform that the campaign declares', () => {
    expect(problemsOf(['SMS'], ['SMS'])).toEqual([])
  })
})

describe('Warnings about the platforms of a campaign', () => {
  it('name those that look like a misspelt one, and no others', () => {
    const warned = platformWarnings(['EMAIL', 'E-Mail', 'SMS', 'i.o.s'])
    expect(warned.map(({ field, problem }) => [field, problem])).toEqual([
      ['platforms[1]', 'is not a known platform, so its reports are counted as UNKNOWN; did you mean EMAIL?'],
      ['platforms[3]', 'is not a known platform, so its reports are counted as UNKNOWN; did you mean IOS?'],
    ])
  })
})

describe('Warnings about ignored reasons', () => {
  it('name the first message event with a reason that did not fail, and how many more there are', () => {
    const event = (kind: string, reason?: string) => ({ platform: 'WEB', kind, ...(reason && { reason }) })
    const events = [event('failed', 'full'), event('sent'), event('sent', 'full'), event('click', 'full')]
    expect(reportWarnings(remarksOn(events), 'events', ['WEB'])).toEqual([
      {
        kind: 'ignored_field',
        field: 'events[2].reason',
        problem: 'is ignored, because only failed and bounce events have a reason; so are 1 more',
      },
    ])
  })
})

describe('Shown warnings', () => {
  it('are at most a hundred, without their kind', () => {
    const warnings = Array.from({ length: WARNINGS_MAX + 1 }, (_, index) => {
      return { kind: 'ignored_field' as const, field: `f${index}`, problem: 'is ignored' }
    })
    const shown = toShownWarnings(warnings)
    expect(shown).toHaveLength(100)
    expect(shown[0]).toEqual({ field: 'f0', problem: 'is ignored' })
  })
})
