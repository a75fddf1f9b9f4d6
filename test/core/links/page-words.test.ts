// Checks the words of the pages behind links: complete in every language, and chosen by the locale of the person.
import { describe, expect, it } from 'vitest'
import { directionOf, PAGE_LANGUAGES, toPageLanguage, wordsIn } from '../../../src/core/links/page-words.ts'

describe('Words of pages', () => {
  it('exist in eight languages', () => {
    expect([...PAGE_LANGUAGES].toSorted()).toEqual(['ar', 'de', 'en', 'es', 'fr', 'hi', 'ja', 'pt'])
  })

  it.each(PAGE_LANGUAGES)('in %s are complete, and name the category', (language) => {
    const words = Object.values(wordsIn(language)).map((word) => (typeof word === 'string' ? word : word('Offers')))
    expect(words).toHaveLength(12)
    for (const word of words) expect(word.trim()).not.toBe('')
    expect(new Set(words).size).toBe(12)
    expect(wordsIn(language).askCategory('Offers')).toContain('\u2068Offers\u2069')
    expect(wordsIn(language).doneCategory('Offers')).toContain('\u2068Offers\u2069')
  })

  it.each<[unknown, string]>([
    ['de', 'de'],
    ['pt-BR', 'pt'],
    ['pt_PT', 'pt'],
    ['AR-eg', 'ar'],
    [' ja ', 'ja'],
    ['zh', 'en'],
    ['denmark', 'en'],
    ['', 'en'],
    [undefined, 'en'],
    [7, 'en'],
    ['constructor', 'en'],
  ])('for the locale %j are in %s', (locale, language) => {
    expect(toPageLanguage(locale)).toBe(language)
  })

  it('run from right to left only in Arabic', () => {
    expect(PAGE_LANGUAGES.filter((language) => directionOf(language) === 'rtl')).toEqual(['ar'])
  })
})
