// Email addresses: which texts are valid, and when two are the same.
import { describe, expect, it } from 'vitest'
import { EMAIL_LENGTH_MAX, isEmail, normalizeEmail } from '../../src/core/users/email-address.ts'

describe('an email address', () => {
  const longest = `a@${'b'.repeat(EMAIL_LENGTH_MAX - 2)}`
  const accepted: [what: string, address: string][] = [
    ['a local part and a domain', 'anna@example.com'],
    ['outer spaces', ' \tanna@example.com\n'],
    ['capitals', 'Anna@Example.COM'],
    ['a domain of one label', 'root@localhost'],
    ['dots, plus and other signs', "a.b+c_d-e!#$%&'*/=?^`{|}~@sub.example.co.uk"],
    ['letters of any alphabet', 'анна@почта.рф'],
    ['one character on each side', 'a@b'],
    ['a local part of 64 characters', `${'a'.repeat(64)}@example.com`],
    [`${EMAIL_LENGTH_MAX} characters`, longest],
    ['outer spaces beyond the greatest length', ` ${longest} `],
    ['an IP address as its domain', 'anna@[192.0.2.1]'],
  ]
  it.each(accepted)('may have %s', (_what, address) => {
    expect(isEmail(address)).toBe(true)
  })

  const refused: [what: string, address: string][] = [
    ['no characters', ''],
    ['only spaces', '   '],
    ['no @', 'anna.example.com'],
    ['nothing before the @', '@example.com'],
    ['nothing after the @', 'anna@'],
    ['two @', 'anna@home@example.com'],
    ['a space inside', 'anna smith@example.com'],
    ['a line break inside', 'anna@example.com\nbcc:eve@example.com'],
    ['a control character', 'anna\u0007@example.com'],
    ['NUL', 'anna\u0000@example.com'],
    ['an unpaired surrogate', 'anna\ud800@example.com'],
    ['a domain that begins with a dot', 'anna@.example.com'],
    ['a domain that ends with a dot', 'anna@example.com.'],
    ['two dots in a row in the domain', 'anna@example..com'],
    ['a local part of 65 characters', `${'a'.repeat(65)}@example.com`],
    [`${EMAIL_LENGTH_MAX + 1} characters`, `${longest}b`],
    ['two addresses', 'anna@example.com,eve@example.com'],
    ['a display name', 'Anna <anna@example.com>'],
  ]
  it.each(refused)('must not have %s', (_what, address) => {
    expect(isEmail(address)).toBe(false)
  })

  // A check that backtracks would run into the timeout of the test.
  it('is checked in linear time, even if it is crafted to cause backtracking', () => {
    expect(isEmail(`a@${'a.'.repeat(200_000)}`)).toBe(false)
    expect(isEmail(`a@${'a.'.repeat(158)}@`)).toBe(false)
  })
})

describe('two addresses', () => {
  const pairs: [left: string, right: string, areSame: boolean][] = [
    ['Anna@Example.com', 'anna@example.COM', true],
    [' anna@example.com\t', 'anna@example.com', true],
    ['ΝΊΚΟΣ.ΠΑΠΠΆΣ@example.com', 'νίκος.παππάς@example.com', true],
    ['\u00c4NNA@example.com', '\u00e4nna@example.com', true],
    ['a\u0308nna@example.com', '\u00e4nna@example.com', true],
    ['info@bücher.example', 'info@xn--bcher-kva.example', true],
    ['info@BÜCHER.Example', 'INFO@XN--BCHER-KVA.example', true],
    ['info@bücher.example', 'info@bücher.example', true],
    ['анна@почта.рф', 'анна@xn--80a1acny.xn--p1ai', true],
    ['info@σς.example', 'info@xn--3xab.example', true],
    ['anna@[192.0.2.1]', 'anna@192.0.2.1', false],
    ['info@bü%61.example', 'info@büa.example', false],
    ['anna+news@example.com', 'anna@example.com', false],
    ['an.na@example.com', 'anna@example.com', false],
    ['anna@example.com', 'anna@example.org', false],
  ]
  it.each(pairs)('%j and %j are the same: %s', (left, right, areSame) => {
    expect(normalizeEmail(left) === normalizeEmail(right)).toBe(areSame)
  })

  it('are normalized in one step: a second one changes nothing', () => {
    for (const address of [
      ' ANNA@Example.com ',
      'Info@BÜCHER.example',
      'info@ΣΣ.gr',
      'İstanbul@example.com',
      'ΣΊΣΥΦΟΣ@example.gr',
    ]) {
      expect(normalizeEmail(normalizeEmail(address))).toBe(normalizeEmail(address))
    }
  })
})
