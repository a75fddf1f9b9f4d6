// An email template: its versions, its group, and how an update creates the next version.
import type { Credential } from '../accounts/credential.ts'
import type { Fault } from '../app-error.ts'

export const TEMPLATE_TYPES = ['CUSTOM', 'PRE_BUILT'] as const
export type TemplateType = (typeof TEMPLATE_TYPES)[number]

/** Where a template was created: over the API with a key, or by a person who signed in. */
export const TEMPLATE_SOURCES = ['API', 'DASHBOARD'] as const
export type TemplateSource = (typeof TEMPLATE_SOURCES)[number]

/** The source of a template that this caller creates. */
export function templateSourceOf({ kind }: Pick<Credential, 'kind'>): TemplateSource {
  return kind === 'person' ? 'DASHBOARD' : 'API'
}

/** Characters of HTML. They fit into the body of a request (1 MiB) together with all other fields. */
export const EMAIL_CONTENT_LENGTH_MAX = 1_000_000
export const SUBJECT_LENGTH_MAX = 1_000
export const SENDER_NAME_LENGTH_MAX = 256
export const URL_LENGTH_MAX = 2_048
export const ATTACHMENTS_MAX = 10
export const ATTACHMENT_NAME_LENGTH_MAX = 256
export const TEMPLATE_ID_LENGTH_MAX = 256
export const LOCALE_LENGTH_MAX = 64
export const VARIATION_LENGTH_MAX = 64
/** Indexes of the search contain these three together, and PostgreSQL limits an index entry to 2,704 bytes. */
export const TEMPLATE_NAME_LENGTH_MAX = 256
export const TEMPLATE_VERSION_LENGTH_MAX = 64
export const TEMPLATE_USER_LENGTH_MAX = 128

export interface Attachment {
  readonly name: string
  readonly url: string
}

/** `basic_details`. */
export interface TemplateDetails {
  readonly emailContent: string
  readonly subject: string
  readonly attachments: readonly Attachment[]
  readonly thumbnailUrl: string
  readonly senderName: string
}

/** `meta_info`. */
export interface TemplateMeta {
  readonly templateId: string
  readonly templateName: string
  readonly templateVersion: string
  readonly templateType: TemplateType
  readonly createdBy: string
  /** The parent. Null for a parent itself and for a template in no group. */
  readonly groupId: string | null
  readonly locale: string | null
  readonly variation: string | null
}

/** One version of a template. It never changes; an update creates the next one. */
export interface TemplateVersion {
  readonly externalTemplateId: string
  /** 1, 2, 3, … without a gap. */
  readonly version: number
  readonly details: TemplateDetails
  readonly meta: TemplateMeta
  readonly source: TemplateSource
  /** When the first version was created. */
  readonly createdAt: number
  /** When and by whom this version was created. */
  readonly updatedAt: number
  readonly updatedBy: string
}

/**
 * The role of a template in a group. A group exists as long as templates name the same parent. Its id is the parent's, and the
 * parent is its default template. Groups do not nest.
 *
 * | from    | to      | by                                               |
 * |---------|---------|--------------------------------------------------|
 * | single  | default | another template names it                        |
 * | default | single  | the last template that named it no longer does   |
 * | single  | child   | it names a single or default template            |
 * | child   | single  | it names none any more                           |
 *
 * An archived default template has only archived children, so that a group is never without the template that stands for it.
 */
export type GroupRole = 'single' | 'default' | 'child'

/** The latest version and the role of a template. */
export interface CurrentTemplate {
  readonly latest: TemplateVersion
  readonly role: GroupRole
  readonly archivedAt: number | null
}

/** The fields that an update changes. */
export interface TemplateChange {
  readonly details: Partial<TemplateDetails>
  readonly meta: Partial<TemplateMeta>
}

/** The first version of a new template. */
export function firstVersion(
  externalTemplateId: string,
  content: Pick<TemplateVersion, 'details' | 'meta' | 'source'>,
  now: number,
): TemplateVersion {
  const { createdBy } = content.meta
  return { ...content, externalTemplateId, version: 1, createdAt: now, updatedAt: now, updatedBy: createdBy }
}

/** The version that an update creates. The caller has checked a change of group with `groupFault`. */
export function nextVersion(
  { latest, role }: CurrentTemplate,
  change: TemplateChange,
  { updatedBy, now }: { readonly updatedBy: string; readonly now: number },
): TemplateVersion {
  const meta = { ...latest.meta, ...change.meta }
  return {
    ...latest,
    version: latest.version + 1,
    details: { ...latest.details, ...change.details },
    // Clients may send the group id that responses show for a default template. It names no parent.
    meta: role === 'default' ? { ...meta, groupId: null } : meta,
    // Queued requests may run in another order than they were received.
    updatedAt: Math.max(now, latest.updatedAt),
    updatedBy,
  }
}

/** A template that another one names as its group. */
interface Parent {
  readonly role: GroupRole
  readonly isArchived: boolean
}

/**
 * Why a template cannot join the group `groupId`; undefined if it can. A new template has no `current`. `parent` is the template
 * with that id; undefined if there is none.
 */
export function groupFault(
  groupId: string | null,
  parent: Parent | undefined,
  current?: CurrentTemplate,
): Fault | undefined {
  const ownId = current?.latest.externalTemplateId
  if (current?.role === 'default') {
    return groupId === ownId
      ? undefined
      : groupIdFault('cannot change while other templates use this template as their group')
  }
  if (groupId === null || groupId === current?.latest.meta.groupId) return undefined
  if (groupId === ownId) return groupIdFault('must be the id of another template')
  if (parent === undefined) return groupIdFault('is not the id of a template in the workspace')
  if (parent.role === 'child') return groupIdFault('must not be the id of a template that belongs to another group')
  return parent.isArchived ? groupIdFault('is the id of an archived template: restore it first') : undefined
}

function groupIdFault(problem: string): Fault {
  return { field: 'meta_info.group_id', problem }
}
