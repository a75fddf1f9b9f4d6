// Checks where links of messages lead: to the web, as a browser reads them, and nowhere else.
import { describe, expect, it } from 'vitest'
import { isPersonalTarget, toLocation } from '../../../src/core/links/link-target.ts'

describe('Targets of links', () => {
  it.each<[string, string | undefined]>([
    ['https://example.com', 'https://example.com'],
    ['https://example.com/a?b=1&c=2#part', 'https://example.com/a?b=1&c=2#part'],
    ['HTTP://Example.com/%20', 'HTTP://Example.com/%20'],
    ['https://example.com/für dich', 'https://example.com/f%C3%BCr%20dich'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
    ['https:example.com/a', 'https://example.com/a'],
    ['https://example.com/a\r\nSet-Cookie: b=1', 'https://example.com/aSet-Cookie:%20b=1'],
    ['/relative', undefined],
    ['//example.com', undefined],
    ['mailto:a@example.com', undefined],
    ['javascript:alert(1)', undefined],
    ['data:text/html,a', undefined],
    ['', undefined],
  ])('%j leads to %j', (url, location) => {
    expect(toLocation(url)).toBe(location)
  })

  it.each<[string, boolean]>([
    ['https://example.com/?id={{ customer_id }}', true],
    ['{% if a %}https://example.com{% endif %}', true],
    ['https://example.com/{a}', false],
  ])('%j differs between people: %s', (url, isPersonal) => {
    expect(isPersonalTarget(url)).toBe(isPersonal)
  })
})
