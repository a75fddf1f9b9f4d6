// The labels of a category: what recipients read in place of its name, by language. A language is a BCP 47 tag in its usual spelling.
import type { Fault } from '../app-error.ts'
import { textProblem } from '../bounded-text.ts'
import { memberPath } from '../field-path.ts'

export const CATEGORY_LABEL_LENGTH_MAX = 256
export const LABELS_MAX = 50
/** Longer than every tag that is in use. */
const LANGUAGE_LENGTH_MAX = 35

/** Language → label, ordered by language. */
export type CategoryLabels = Readonly<Record<string, string>>

/** Labels as a client sent them; undefined ones have faults already. `field` of a fault is a path within `labels`. */
export function parseLabels(sent: Readonly<Record<string, string | undefined>>): {
  readonly labels: CategoryLabels
  readonly faults: readonly Fault[]
} {
  const faults: Fault[] = []
  const labels = new Map<string, string>()
  for (const [tag, label] of Object.entries(sent)) {
    const language = toLanguage(tag)
    const problem = language === undefined ? NO_LANGUAGE : labelProblem(label, labels.has(language))
    if (problem !== undefined) faults.push({ field: memberPath('labels', tag), problem })
    else if (label !== undefined) labels.set(language as string, label)
  }
  if (Object.keys(sent).length > LABELS_MAX) {
    faults.push({ field: 'labels', problem: `must have at most ${LABELS_MAX} languages` })
  }
  return { labels: Object.fromEntries([...labels].toSorted(([one], [other]) => (one < other ? -1 : 1))), faults }
}

const NO_LANGUAGE = 'must be named by a language tag, such as de or pt-BR'

function labelProblem(label: string | undefined, isRepeated: boolean): string | undefined {
  if (isRepeated) return 'repeats the language of another label'
  return label === undefined ? undefined : textProblem(label, CATEGORY_LABEL_LENGTH_MAX)
}

/** The tag in its usual spelling; undefined if it is none. */
function toLanguage(tag: string): string | undefined {
  if (tag.length > LANGUAGE_LENGTH_MAX) return undefined
  try {
    return Intl.getCanonicalLocales(tag)[0]
  } catch {
    return undefined
  }
}

/**
 * The label for a page in `language`, whose reader has a locale that may say more, such as `pt_BR`: of that locale, or else of the
 * nearest one of the language. Undefined if no label is in the language.
 */
export function chooseLabel(labels: CategoryLabels, language: string, locale: unknown): string | undefined {
  const inLanguage = Object.entries(labels)
    .map(([tag, label]) => [tag.toLowerCase(), label] as const)
    .filter(([tag]) => tag === language || tag.startsWith(`${language}-`))
  const found = new Map(inLanguage)
  const wanted = typeof locale === 'string' ? locale.trim().toLowerCase().replaceAll('_', '-') : ''
  const subtags = wanted.split('-')
  for (let count = subtags.length; count > 0; count--) {
    const label = found.get(subtags.slice(0, count).join('-'))
    if (label !== undefined) return label
  }
  return found.get(language) ?? inLanguage[0]?.[1]
}
