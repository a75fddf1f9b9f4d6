// The templates of a run, pinned when it starts: for each variation the default template, and those of other locales.

export interface PinnedTemplate {
  readonly externalTemplateId: string
  readonly version: number
  /** Null if the template has none. */
  readonly locale: string | null
}

export interface PinnedVariation {
  readonly name: string
  /** Percent. */
  readonly share: number
  /** The default first, then the other members of its group. */
  readonly templates: readonly [PinnedTemplate, ...PinnedTemplate[]]
}

export interface RunContent {
  readonly variations: readonly PinnedVariation[]
  /** For each template version, how many links the templates before it have: its own are numbered after these. */
  readonly linksBefore: readonly {
    readonly externalTemplateId: string
    readonly version: number
    readonly count: number
  }[]
}

/** The template for a person: that of the locale (`pt-BR`), else of its language (`pt`), else the default. */
export function templateFor({ templates }: PinnedVariation, locale: string | null): PinnedTemplate {
  const wanted = locale === null ? '' : foldLocale(locale)
  const language = wanted.split('-')[0]
  const withLocale = (name: string | undefined) =>
    templates.find((template) => template.locale !== null && foldLocale(template.locale) === name)
  return (wanted === '' ? undefined : (withLocale(wanted) ?? withLocale(language))) ?? templates[0]
}

/** `pt_BR` and `pt-br` are one locale. */
function foldLocale(locale: string): string {
  return locale.trim().toLowerCase().replaceAll('_', '-')
}
