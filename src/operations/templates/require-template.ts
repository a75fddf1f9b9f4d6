// Finds the template that a path names. An id of another workspace looks like an unknown one.
import { findCurrentTemplate } from '../../actions/save-template.ts'
import { AppError } from '../../core/app-error.ts'
import type { CurrentTemplate } from '../../core/templates/template.ts'
import type { Workspace } from '../../core/workspace.ts'
import type { Store } from '../../store/store.ts'
import { findTemplates, type FoundTemplate } from '../../store/templates/templates.ts'
import { Strict } from '../fields.ts'
import { ExternalTemplateId } from './template-fields.ts'

export const TemplatePath = Strict({ external_template_id: ExternalTemplateId })

/** Throws AppError `not_found` if the workspace has no template with this id. */
export async function requireTemplate(store: Store, workspace: Workspace, id: string): Promise<FoundTemplate> {
  const [template] = await findTemplates(store, workspace.id, [id])
  if (!template) throw noSuchTemplate()
  return template
}

/** The same with its contents. */
export async function requireCurrentTemplate(store: Store, workspace: Workspace, id: string): Promise<CurrentTemplate> {
  const template = await findCurrentTemplate(store, workspace.id, id)
  if (!template) throw noSuchTemplate()
  return template
}

function noSuchTemplate(): AppError {
  return new AppError('not_found', 'The workspace has no template with this id.')
}
