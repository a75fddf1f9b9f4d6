// The templates of a run as its messages need them: the pinned versions, prepared, with links numbered over the whole run.
import type { PinnedTemplate } from '../../core/delivery/audience/pinned-variation.ts'
import type { RunContent } from '../../core/delivery/run-content.ts'
import type { StoredDelivery } from '../../store/delivery/deliveries.ts'
import type { Attachment } from '../../core/templates/template.ts'
import type { Store } from '../../store/store.ts'
import { findTemplateVersions } from '../../store/templates/template-versions.ts'
import { prepareTemplate, type PreparedTemplate } from '../content/template/prepare-template.ts'

/** A template of a run. */
export interface RunTemplate {
  readonly template: PreparedTemplate
  readonly attachments: readonly Attachment[]
}

/** Numbers the links of all templates of a campaign that begins. Returns their targets, from number 1 on. */
export async function prepareRunContent(
  store: Store,
  delivery: StoredDelivery,
): Promise<{ readonly content: RunContent; readonly links: readonly string[] }> {
  const linksBefore: RunContent['linksBefore'][number][] = []
  const links: string[] = []
  for (const pinned of pinnedTemplatesOf(delivery)) {
    const { externalTemplateId, version } = pinned
    const { template } = present(pinned, await prepare(store, delivery, { pinned, firstLink: links.length + 1 }))
    linksBefore.push({ externalTemplateId, version, count: links.length })
    links.push(...template.links.map(({ url }) => url))
  }
  return { content: { linksBefore }, links }
}

/** The templates of a run that has begun, by `templateKey`. */
export async function loadRunTemplates(
  store: Store,
  delivery: StoredDelivery,
  content: RunContent,
): Promise<ReadonlyMap<string, RunTemplate>> {
  const templates = new Map<string, RunTemplate>()
  for (const pinned of pinnedTemplatesOf(delivery)) {
    templates.set(templateKey(pinned), present(pinned, await loadRunTemplate(store, delivery, { pinned, content })))
  }
  return templates
}

/** One of them; undefined if it was deleted, as it can be once the campaign is over. */
export async function loadRunTemplate(
  store: Store,
  delivery: Pick<StoredDelivery, 'workspaceId'>,
  { pinned, content }: { readonly pinned: PinnedTemplate; readonly content: RunContent },
): Promise<RunTemplate | undefined> {
  const before = content.linksBefore.find((one) => templateKey(one) === templateKey(pinned))
  return prepare(store, delivery, { pinned, firstLink: (before?.count ?? 0) + 1 })
}

/** Identifies a version of a template. */
export function templateKey({
  externalTemplateId,
  version,
}: Pick<PinnedTemplate, 'externalTemplateId' | 'version'>): string {
  return `${externalTemplateId} ${version}`
}

/** Each version once. */
function pinnedTemplatesOf({ pinned }: StoredDelivery): PinnedTemplate[] {
  const all = (pinned ?? []).flatMap(({ template, members }) => [template, ...members])
  return [...new Map(all.map((one) => [templateKey(one), one])).values()]
}

async function prepare(
  store: Store,
  { workspaceId }: Pick<StoredDelivery, 'workspaceId'>,
  { pinned, firstLink }: { readonly pinned: PinnedTemplate; readonly firstLink: number },
): Promise<RunTemplate | undefined> {
  const [found] = await findTemplateVersions(store, workspaceId, [pinned])
  if (!found) return undefined
  const { emailContent: html, subject, senderName, attachments } = found.details
  return { template: prepareTemplate({ html, subject, senderName, firstLink }), attachments }
}

/** A template cannot be deleted while a campaign that is not over uses it. */
function present(pinned: PinnedTemplate, found: RunTemplate | undefined): RunTemplate {
  if (!found) throw new Error(`the template ${templateKey(pinned)} does not exist any more`)
  return found
}
