// Pins the templates of a campaign to versions: those that are sent although newer ones are saved later ("A campaign with delivery").
import type { Fault } from '../../core/app-error.ts'
import { dimensionNameProblem } from '../../core/campaigns/report.ts'
import type { Delivery, Variation } from '../../core/delivery/delivery.ts'
import {
  normalizeLocale,
  type PinnedTemplate,
  type PinnedVariation,
} from '../../core/delivery/audience/pinned-variation.ts'
import type { StoredDelivery } from '../../store/delivery/deliveries.ts'
import type { Store } from '../../store/store.ts'
import { findTemplates, listGroupLocales, type FoundTemplate } from '../../store/templates/templates.ts'

/** The most templates with a locale in the group of one variation: all of them are read at the start. */
export const LOCALES_MAX = 100

export interface Pins {
  readonly variations: readonly PinnedVariation[]
  /** Then `variations` is not complete. */
  readonly faults: readonly Fault[]
}

/**
 * Finds the version of each variation and, if its template is the default of a group, the newest versions of the other templates of
 * the group that have a locale.
 */
export async function pinVariations(store: Store, workspaceId: string, { variations }: Delivery): Promise<Pins> {
  const ids = [...new Set(variations.map(({ externalTemplateId }) => externalTemplateId))]
  const found = new Map(
    (await findTemplates(store, workspaceId, ids)).map((template) => [template.externalTemplateId, template]),
  )
  const pinned: PinnedVariation[] = []
  const faults: Fault[] = []
  for (const [index, variation] of variations.entries()) {
    const field = `delivery.variations[${index}]`
    const template = found.get(variation.externalTemplateId)
    const fault = templateFault(variation, template, field)
    if (fault || !template) {
      if (fault) faults.push(fault)
      continue
    }
    const made = await pinTemplates(store, workspaceId, { variation, template })
    faults.push(...localeFaults(made, `${field}.external_template_id`))
    pinned.push(made)
  }
  return { variations: pinned, faults }
}

/** The pinned variations of a campaign that was started, else those that would be pinned now. */
export async function findPins(
  store: Store,
  { pinned, workspaceId, settings }: Pick<StoredDelivery, 'pinned' | 'workspaceId' | 'settings'>,
): Promise<Pins> {
  return pinned ? { variations: pinned, faults: [] } : pinVariations(store, workspaceId, settings)
}

function templateFault({ version }: Variation, template: FoundTemplate | undefined, field: string): Fault | undefined {
  const idField = `${field}.external_template_id`
  if (!template) return { field: idField, problem: 'is not the id of a template in the workspace' }
  if (template.archivedAt !== null)
    return { field: idField, problem: 'is the id of an archived template: restore it first' }
  // Versions are numbered without a gap.
  if (version === undefined || version <= template.version) return undefined
  return { field: `${field}.version`, problem: `must be a version of the template, from 1 to ${template.version}` }
}

interface Chosen {
  readonly variation: Variation
  readonly template: FoundTemplate
}

/** Of templates that share a locale, the one whose `variation` has the name of the campaign's, then the first by its id. */
async function pinTemplates(
  store: Store,
  workspaceId: string,
  { variation, template }: Chosen,
): Promise<PinnedVariation> {
  const { externalTemplateId, role } = template
  const version = variation.version ?? template.version
  const basis = { name: variation.name, share: variation.share }
  if (role !== 'default') return { ...basis, template: { externalTemplateId, version, locale: null }, members: [] }
  const group = await listGroupLocales(store, workspaceId, externalTemplateId, LOCALES_MAX + 2)
  const own = group.find((member) => member.externalTemplateId === externalTemplateId)
  const members = new Map<string, PinnedTemplate>()
  for (const preferred of [true, false]) {
    for (const member of group) {
      if (member === own || member.locale === null || (member.variation === variation.name) !== preferred) continue
      const { externalTemplateId: id, version: newest, locale } = member
      const key = normalizeLocale(locale)
      if (!members.has(key)) members.set(key, { externalTemplateId: id, version: newest, locale })
    }
  }
  const locale = own?.locale ?? null
  return { ...basis, template: { externalTemplateId, version, locale }, members: [...members.values()] }
}

/** A locale becomes the name of a dimension of statistics. */
function localeFaults({ template, members }: PinnedVariation, field: string): Fault[] {
  if (members.length > LOCALES_MAX) {
    return [{ field, problem: `must be in a group of at most ${LOCALES_MAX} templates with a locale` }]
  }
  return [template, ...members].flatMap(({ externalTemplateId, locale }) => {
    const problem = locale === null ? undefined : dimensionNameProblem(locale)
    if (problem === undefined) return []
    return [{ field, problem: `has the locale of ${JSON.stringify(externalTemplateId)}, which ${problem}` }]
  })
}
