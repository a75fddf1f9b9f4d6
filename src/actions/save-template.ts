// Saves a version of an email template: checks its ids and its group, stores it, and opens or closes groups.
import { AppError, invalidRequest } from '../core/app-error.ts'
import type { CurrentTemplate, TemplateVersion } from '../core/templates/template.ts'
import { summarize } from '../core/templates/template-summary.ts'
import type { Store } from '../store/store.ts'
import { addTemplateSummary } from '../store/templates/template-summaries.ts'
import { addTemplateVersion, findTemplateVersions } from '../store/templates/template-versions.ts'
import {
  closeGroupIfEmpty,
  findGroupFault,
  findTemplateHolding,
  findTemplates,
  openGroup,
  saveLatest,
} from '../store/templates/templates.ts'

/** The current template; undefined if there is none. To change it, the caller must hold the lock of `lockTemplates`. */
export async function findCurrentTemplate(
  store: Store,
  workspaceId: string,
  id: string,
): Promise<CurrentTemplate | undefined> {
  const [found] = await findTemplates(store, workspaceId, [id])
  if (!found) return undefined
  const [latest] = await findTemplateVersions(store, workspaceId, [found])
  return latest && { latest, role: found.role, archivedAt: found.archivedAt }
}

/** Throws AppError `invalid_request` if the template cannot join the group. Without `current` the template is new. */
export async function checkGroup(
  store: Store,
  workspaceId: string,
  groupId: string | null,
  current?: CurrentTemplate,
): Promise<void> {
  const fault = await findGroupFault(store, workspaceId, groupId, current)
  if (fault) throw invalidRequest([fault])
}

/**
 * Stores a version as the latest of its template. The caller has called `lockTemplates` and `checkGroup`. Throws AppError
 * `conflict` if its template id and version belong to another template.
 */
export async function saveTemplate(
  store: Store,
  workspaceId: string,
  made: TemplateVersion,
  previous?: CurrentTemplate,
): Promise<void> {
  const { externalTemplateId, meta } = made
  const holder = await findTemplateHolding(store, workspaceId, meta)
  if (holder !== undefined && holder !== externalTemplateId) throw taken(holder)
  await addTemplateVersion(store, workspaceId, made)
  await addTemplateSummary(store, workspaceId, summarize(made, previous?.latest))
  const ownGroup = previous?.role === 'default' ? externalTemplateId : null
  await saveLatest(store, workspaceId, made, meta.groupId ?? ownGroup)
  const left = previous?.latest.meta.groupId ?? null
  if (meta.groupId === left) return
  if (meta.groupId !== null) await openGroup(store, workspaceId, meta.groupId)
  if (left !== null) await closeGroupIfEmpty(store, workspaceId, left)
}

function taken(holder: string): AppError {
  const problem = `is already used, with the same meta_info.template_version, by the template ${holder}`
  const message = 'Another template in the workspace already has this template_id and template_version.'
  return new AppError('conflict', message, [{ field: 'meta_info.template_id', problem }])
}
