// The labels of categories: which languages and texts they may have, and which one a reader sees.
import { describe, expect, it } from 'vitest'
import { chooseLabel, LABELS_MAX, parseLabels } from '../../../src/core/workspaces/category-labels.ts'

const fieldsOf = (sent: Readonly<Record<string, string | undefined>>) =>
  parseLabels(sent).faults.map(({ field }) => field)

describe('Labels of a category', () => {
  it('are kept by language tags in their usual spelling, in their order', () => {
    const sent = { 'PT-br': 'Ofertas', de: 'Angebote', 'zh-hant': '優惠' }
    expect(parseLabels(sent)).toEqual({ labels: { de: 'Angebote', 'pt-BR': 'Ofertas', 'zh-Hant': '優惠' }, faults: [] })
    expect(Object.keys(parseLabels(sent).labels)).toEqual(['de', 'pt-BR', 'zh-Hant'])
  })

  it.each(['', 'd', 'de_DE', 'German!', 'de-', 'x'.repeat(9), `de-${'x-abc'.repeat(8)}`])(
    'must not have the language %j',
    (tag) => expect(fieldsOf({ [tag]: 'x' })).toEqual([tag === '' ? 'labels[""]' : `labels.${tag}`]),
  )

  it.each([
    ['an empty text', ''],
    ['a text that is too long', 'x'.repeat(257)],
    ['a text nobody can see', '\u200b'],
  ])('must not be %s', (_what, text) => expect(fieldsOf({ de: text })).toEqual(['labels.de']))

  it('must not name a language twice', () => {
    expect(fieldsOf({ 'pt-BR': 'Ofertas', 'PT-br': 'Promoções' })).toEqual(['labels.PT-br'])
  })

  it('exist in at most fifty languages', () => {
    const tags = Array.from({ length: LABELS_MAX + 1 }, (_, index) => {
      return String.fromCharCode(97 + Math.floor(index / 26)).concat(String.fromCharCode(97 + (index % 26)), 'q')
    })
    const labels = (count: number) => Object.fromEntries(tags.slice(0, count).map((tag) => [tag, 'x']))
    expect(fieldsOf(labels(LABELS_MAX))).toEqual([])
    expect(fieldsOf(labels(LABELS_MAX + 1))).toEqual(['labels'])
  })

  const LABELS = { de: 'Angebote', 'de-CH': 'Aktionen', 'pt-BR': 'Ofertas', 'pt-PT': 'Promoções' }

  it.each<[language: string, locale: unknown, label: string | undefined]>([
    ['de', 'de', 'Angebote'],
    ['de', 'de_CH', 'Aktionen'],
    ['de', ' DE-ch-1996 ', 'Aktionen'],
    ['de', 'de-AT', 'Angebote'],
    ['de', undefined, 'Angebote'],
    ['pt', 'pt-PT', 'Promoções'],
    ['pt', 'pt', 'Ofertas'],
    ['pt', 'pt-AO', 'Ofertas'],
    ['en', 'en-GB', undefined],
    ['en', 'de', undefined],
    ['en', 7, undefined],
  ])('on a page in %s for the locale %j are %j', (language, locale, label) => {
    expect(chooseLabel(LABELS, language, locale)).toBe(label)
  })
})
