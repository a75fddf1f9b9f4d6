// Comparing words without case: only ASCII letters have case, not letters that merely look like them.
import { expect, it } from 'vitest'
import { toAsciiCapitals } from '../../src/core/ascii-capitals.ts'
import { toMessagePlatform } from '../../src/core/campaigns/facts.ts'
import { toPlatform } from '../../src/core/platform.ts'

const texts: [text: string, capitals: string][] = [
  ['', ''],
  ['Opted_in 1', 'OPTED_IN 1'],
  ['ıſ', 'ıſ'],
  ['straße', 'STRAßE'],
  ['eﬁ ü 😀', 'Eﬁ ü 😀'],
]
it.each(texts)('the capitals of %j are %j', (text, capitals) => {
  expect(toAsciiCapitals(text)).toBe(capitals)
})

const platforms: [sent: string, event: string, message: string][] = [
  ['iOS', 'IOS', 'IOS'],
  ['ıos', 'ıos', 'ıos'],
  ['ioſ', 'ioſ', 'ioſ'],
  ['Email', 'Email', 'EMAIL'],
  ['emaıl', 'emaıl', 'emaıl'],
]
it.each(platforms)('the platform %j is stored as %j for an event and %j for a message', (sent, event, message) => {
  expect([toPlatform(sent), toMessagePlatform(sent)]).toEqual([event, message])
})
