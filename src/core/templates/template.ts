// An email template: its versions, the group it may be in, and how an update makes the next version of it.
import type { Fault } from '../app-error.ts'

export const TEMPLATE_TYPES = ['CUSTOM', 'PRE_BUILT'] as const
export type TemplateType = (typeof TEMPLATE_TYPES)[number]

/** Where a template was written. */
export type TemplateSource = 'API' | 'DASHBOARD'

/** Characters of HTML. The body of a request (1 MiB) has room for them and for everything beside them. */
export const EMAIL_CONTENT_LENGTH_MAX = 1_000_000
export const SUBJECT_LENGTH_MAX = 1_000
export const SENDER_NAME_LENGTH_MAX = 256
export const URL_LENGTH_MAX = 2_048
export const ATTACHMENTS_MAX = 10
export const ATTACHMENT_NAME_LENGTH_MAX = 256
export const TEMPLATE_ID_LENGTH_MAX = 256
export const LOCALE_LENGTH_MAX = 64
export const VARIATION_LENGTH_MAX = 64
/** These three are together in the indexes of the search, whose entries PostgreSQL limits to 2,704 bytes. */
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
  /** The parent this version names. Null for a parent itself and for a template in no group. */
  readonly groupId: string | null
  readonly locale: string | null
  readonly variation: string | null
}

/** One version of a template. It never changes; an update makes the next one. */
export interface TemplateVersion {
  readonly externalTemplateId: string
  /** 1, 2, 3, … without a gap. */
  readonly version: number
  readonly details: TemplateDetails
  readonly meta: TemplateMeta
  readonly source: TemplateSource
  /** When the first version was made. */
  readonly createdAt: number
  /** When and by whom this version was made. */
  readonly updatedAt: number
  readonly updatedBy: string
}

/**
 * What a template is to a group. A group exists as long as templates name the same parent; its id is the parent's,
 * and the parent is its default template. Groups do not nest.
 *
 * | from    | to      | by                                               |
 * |---------|---------|--------------------------------------------------|
 * | single  | default | another template names it                        |
 * | default | single  | the last template that named it no longer does   |
 * | single  | child   | it names a single or default template            |
 * | child   | single  | it names none any more                           |
 */
export type GroupStanding = 'single' | 'default' | 'child'

/** A template as it is now. */
export interface CurrentTemplate {
  readonly latest: TemplateVersion
  readonly standing: GroupStanding
}

/** The members an update changes. */
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

/** The version that an update makes. The change of group must have passed `groupFault`. */
export function nextVersion(
  { latest, standing }: CurrentTemplate,
  change: TemplateChange,
  { updatedBy, now }: { readonly updatedBy: string; readonly now: number },
): TemplateVersion {
  const meta = { ...latest.meta, ...change.meta }
  return {
    ...latest,
    version: latest.version + 1,
    details: { ...latest.details, ...change.details },
    // A default template may repeat the group id that it is shown with, which names no parent.
    meta: standing === 'default' ? { ...meta, groupId: null } : meta,
    // Requests that wait for each other may run in another order than they were received.
    updatedAt: Math.max(now, latest.updatedAt),
    updatedBy,
  }
}

/**
 * Why a template may not name `groupId` as its group; undefined when it may. A new template has no `current` yet. `parent` is the
 * standing of the template so named; undefined where there is none.
 */
export function groupFault(
  groupId: string | null,
  parent: GroupStanding | undefined,
  current?: CurrentTemplate,
): Fault | undefined {
  const ownId = current?.latest.externalTemplateId
  if (current?.standing === 'default') {
    return groupId === ownId
      ? undefined
      : groupIdFault('cannot change while other templates use this template as their group')
  }
  if (groupId === null || groupId === current?.latest.meta.groupId) return undefined
  if (groupId === ownId) return groupIdFault('must be the id of another template')
  if (parent === undefined) return groupIdFault('is not the id of a template in the workspace')
  return parent === 'child' ? groupIdFault('must not be the id of a template that belongs to another group') : undefined
}

function groupIdFault(problem: string): Fault {
  return { field: 'meta_info.group_id', problem }
}
