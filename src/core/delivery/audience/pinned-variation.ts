// The templates of a campaign as they were when it was started, and which of them a person gets.
import type { Variation } from '../delivery.ts'

/** One version of a template. */
export interface PinnedTemplate {
  readonly externalTemplateId: string
  readonly version: number
  /** The locale that is counted. Null for a template without one, and for a template that is not in a group. */
  readonly locale: string | null
}

/** A variation with the versions that were the newest when the campaign was started, unless it names one. */
export interface PinnedVariation extends Pick<Variation, 'name' | 'share'> {
  readonly template: PinnedTemplate
  /** The other templates of the group that have a locale, one for each, if `template` is the group's default; else empty. */
  readonly members: readonly PinnedTemplate[]
}

/**
 * The template for a person with this attribute `locale`: that of `pt-BR`, then of `pt`, else the variation's own. Locales are
 * compared without regard to case, and `pt_BR` is `pt-BR`.
 */
export function chooseTemplate({ template, members }: PinnedVariation, locale: unknown): PinnedTemplate {
  if (typeof locale !== 'string' || members.length === 0) return template
  const whole = normalizeLocale(locale)
  const [language = whole] = whole.split('-')
  return memberOf(members, whole) ?? memberOf(members, language) ?? template
}

/** The form in which locales are compared. */
export function normalizeLocale(locale: string): string {
  return locale.replaceAll('_', '-').toLowerCase()
}

function memberOf(members: readonly PinnedTemplate[], wanted: string): PinnedTemplate | undefined {
  return members.find(({ locale }) => locale !== null && normalizeLocale(locale) === wanted)
}
