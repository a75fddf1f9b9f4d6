// Finds faults in the content of a campaign's templates, and in the coupon lists that they name.
import { setImmediate } from 'node:timers/promises'
import type { Fault } from '../../core/app-error.ts'
import { calendarDate, couponListStatus } from '../../core/coupons/coupon-list.ts'
import type { Delivery } from '../../core/delivery/delivery.ts'
import type { PinnedTemplate } from '../../core/delivery/audience/pinned-variation.ts'
import type { TemplateVersion } from '../../core/templates/template.ts'
import { findCouponListsByLabel } from '../../store/coupons/coupon-lists.ts'
import type { Store } from '../../store/store.ts'
import { findTemplateVersions } from '../../store/templates/template-versions.ts'
import { prepareTemplate, type PreparedTemplate } from '../content/template/prepare-template.ts'
import { templateKey } from '../run/run-letters.ts'
import type { CheckedPlan, StartPlan, StartSurroundings } from './start-plan.ts'

/** A template, and the variation that first names it. */
interface PlacedTemplate {
  readonly template: PinnedTemplate
  readonly field: string
}

/**
 * Reads one template at a time, because each may have a megabyte. Fetches the attachments, because a run that cannot get them would send
 * nobody what was meant.
 */
export async function findContentFaults(
  store: Store,
  plan: Pick<CheckedPlan, 'settings' | 'variations' | 'files'>,
  surroundings: Pick<StartSurroundings, 'workspace' | 'now'>,
): Promise<Fault[]> {
  const faults: Fault[] = []
  const labels = new Map<string, string>()
  for (const { template, field } of listTemplates(plan)) {
    const [content] = await findTemplateVersions(store, surroundings.workspace.id, [template])
    if (!content) continue
    const { problems, coupons } = readContent(content, plan.settings)
    const attached = await plan.files.fetch(content.details.attachments)
    for (const problem of [...problems, ...attached]) faults.push(toContentFault(field, template, problem))
    for (const label of coupons) if (!labels.has(label)) labels.set(label, field)
    // Reading a megabyte takes some milliseconds, so other requests get in between.
    await setImmediate()
  }
  return [...faults, ...(await findCouponFaults(store, labels, surroundings))]
}

/** The problems of a template, and the labels of the coupon lists that it names. */
function readContent({ details }: TemplateVersion, { consent }: Delivery) {
  const { emailContent: html, subject, senderName } = details
  const template = prepareTemplate({ html, subject, senderName })
  const { coupons, hasUnsubscribeLink } = template
  const problems = listProblems(template)
  const isForbidden = hasUnsubscribeLink && consent === 'transactional'
  return { coupons, problems: isForbidden ? [...problems, UNSUBSCRIBE_PROBLEM] : problems }
}

const UNSUBSCRIBE_PROBLEM = 'a transactional message must not have an unsubscribe link'

/** The errors in its Liquid, as ends of sentences. */
export function listProblems({ faults }: Pick<PreparedTemplate, 'faults'>): string[] {
  return faults.map(({ field, line, column, problem }) => `${field}, line ${line}, column ${column}: ${problem}`)
}

/** What is wrong with a template that a campaign names at `field`. */
export function toContentFault(field: string, { externalTemplateId, version }: PinnedTemplate, problem: string): Fault {
  return { field, problem: `names template ${JSON.stringify(externalTemplateId)}, version ${version}: ${problem}` }
}

/** Each template version once. */
function listTemplates({ settings, variations }: Pick<StartPlan, 'settings' | 'variations'>): PlacedTemplate[] {
  const placed = new Map<string, PlacedTemplate>()
  for (const { name, template: own, members } of variations) {
    const index = settings.variations.findIndex((variation) => variation.name === name)
    for (const template of [own, ...members]) {
      const key = templateKey(template)
      if (!placed.has(key)) {
        placed.set(key, { template, field: `delivery.variations[${index}].external_template_id` })
      }
    }
  }
  return [...placed.values()]
}

/** `labels`: label → the field of the variation that first names it. */
async function findCouponFaults(
  store: Store,
  labels: ReadonlyMap<string, string>,
  surroundings: Pick<StartSurroundings, 'workspace' | 'now'>,
): Promise<Fault[]> {
  const problems = await findCouponProblems(store, [...labels.keys()], surroundings)
  return [...problems].map(([label, problem]) => ({ field: labels.get(label) ?? '', problem }))
}

/** Label → why there are no coupons of it; labels with coupons are absent. */
export async function findCouponProblems(
  store: Store,
  labels: readonly string[],
  { workspace, now }: Pick<StartSurroundings, 'workspace' | 'now'>,
): Promise<Map<string, string>> {
  const lists = await findCouponListsByLabel(store, workspace.id, labels)
  const today = calendarDate(workspace.timezone, now)
  const problems = new Map<string, string>()
  for (const label of labels) {
    const list = lists.find((found) => found.label === label)
    const status = list && couponListStatus(list, today)
    if (status === 'ACTIVE') continue
    const problem = status === undefined ? 'no coupon list has this label' : `the list is ${status}`
    problems.set(label, `needs coupons of ${JSON.stringify(label)}: ${problem}`)
  }
  return problems
}
