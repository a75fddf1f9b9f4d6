// The table of email templates in their current state, one row each, without content: `template-pages.ts` searches it. It also
// stores groups, because a template becomes the default of a group when another template names it as its parent.
import type { OperandValueExpressionOrList, Selectable } from 'kysely'
import type { Fault } from '../../core/app-error.ts'
import {
  groupFault,
  type CurrentTemplate,
  type GroupRole,
  type TemplateVersion,
} from '../../core/templates/template.ts'
import type { SqlTypes, Store } from '../store.ts'
import type { Tables } from '../tables.ts'
import type { VersionKey } from './template-versions.ts'

interface TemplateRow {
  workspace_id: string
  external_template_id: string
  /** The latest version; its content is in the table of `template-versions.ts`. */
  version: number
  template_id: string
  template_name: string
  template_version: string
  template_type: string
  template_source: string
  created_by: string
  updated_by: string
  updated_at: number
  /** The group it belongs to: its parent's id, or its own if it is the default template of a group. */
  group_id: string | null
  /** 1 where another template is its parent. */
  is_child: number
  locale: string | null
  variation: string | null
  archived_at: number | null
}

declare module '../tables.ts' {
  interface Tables {
    templates: TemplateRow
  }
}

/** A template found by a search. */
export interface FoundTemplate extends VersionKey {
  readonly role: GroupRole
  /** Its parent's id, or its own if it is the default template of a group. */
  readonly groupId: string | null
  readonly archivedAt: number | null
}

/** Counts of a whole group, its default template included. */
export interface GroupCounts {
  readonly locales: number
  readonly variations: number
  readonly templates: number
}

/** Columns that a search returns; the first breaks ties. */
const FOUND = ['external_template_id', 'version', 'group_id', 'is_child'] as const
export const RETURNED = [...FOUND, 'archived_at'] as const

/** Columns in which most templates may be equal, so that a filter by them matches many. */
const COMMON = ['template_source', 'template_type', 'template_version', 'created_by'] as const

/**
 * The first three serve the sorts. After their key and the id they hold every other column that a filter or a page needs, so that a
 * scan reads no rows: past 100,000 templates of which none matches it takes some 25 ms, and 200 ms otherwise. None of them holds
 * the template id, because PostgreSQL limits an index entry to 2,704 bytes. The next three serve filters in the default order, the
 * last one the filter by group and the counts of groups.
 */
const INDEXES: { readonly [name: string]: readonly (keyof TemplateRow)[] } = {
  templates_sorted_by_date: ['updated_at', ...FOUND, ...COMMON, 'template_name', 'updated_by'],
  templates_sorted_by_name: ['template_name', ...FOUND, ...COMMON, 'updated_at', 'updated_by'],
  templates_sorted_by_updater: ['updated_by', ...FOUND, ...COMMON, 'updated_at', 'template_name'],
  templates_by_version: ['template_version', 'updated_at', ...FOUND],
  templates_by_creator: ['created_by', 'updated_at', ...FOUND],
  templates_by_updater: ['updated_by', 'updated_at', ...FOUND],
  templates_by_group: ['group_id', 'is_child', 'locale', 'variation'],
}

export async function createTemplates({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('templates')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('external_template_id', text, (column) => column.notNull())
    .addColumn('version', integer, (column) => column.notNull())
    .addColumn('template_id', text, (column) => column.notNull())
    .addColumn('template_name', text, (column) => column.notNull())
    .addColumn('template_version', text, (column) => column.notNull())
    .addColumn('template_type', text, (column) => column.notNull())
    .addColumn('template_source', text, (column) => column.notNull())
    .addColumn('created_by', text, (column) => column.notNull())
    .addColumn('updated_by', text, (column) => column.notNull())
    .addColumn('updated_at', integer, (column) => column.notNull())
    .addColumn('group_id', text)
    .addColumn('is_child', integer, (column) => column.notNull())
    .addColumn('locale', text)
    .addColumn('variation', text)
    .addPrimaryKeyConstraint('templates_key', ['workspace_id', 'external_template_id'])
    .execute()
  for (const [name, columns] of Object.entries(INDEXES)) {
    await query.schema
      .createIndex(name)
      .on('templates')
      .columns(['workspace_id', ...columns])
      .execute()
  }
  await query.schema
    .createIndex('templates_by_template_id')
    .unique()
    .on('templates')
    .columns(['workspace_id', 'template_id', 'template_version'])
    .execute()
}

/** Lets templates be archived. Every index of `INDEXES` ends with the new column, so that a scan still reads no rows. */
export async function addTemplateArchival({ query }: Store, { integer }: SqlTypes): Promise<void> {
  await query.schema.alterTable('templates').addColumn('archived_at', integer).execute()
  for (const [name, columns] of Object.entries(INDEXES)) {
    await query.schema.dropIndex(name).execute()
    await query.schema
      .createIndex(name)
      .on('templates')
      .columns(['workspace_id', ...columns, 'archived_at'])
      .execute()
  }
}

/**
 * Lets templates be listed, last changed first, by any filter of a list: it holds all their columns, so that a walk reads no rows. It
 * is not `templates_sorted_by_date` with two columns more, because PostgreSQL limits an index entry to 2,704 bytes.
 */
export async function addTemplateListIndex({ query }: Store): Promise<void> {
  const filtered = ['group_id', 'locale', 'variation', 'template_source', 'updated_by', 'archived_at', 'template_name']
  await query.schema
    .createIndex('templates_listed')
    .on('templates')
    .columns(['workspace_id', 'updated_at', 'external_template_id', ...filtered])
    .execute()
}

/** Locks the templates of a workspace until this transaction ends. Call it before any read. */
export async function lockTemplates(store: Store, workspaceId: string): Promise<void> {
  await store.lock(`templates ${workspaceId}`)
}

/** The latest versions of templates and their roles in their groups; unknown ids are left out. */
export async function findTemplates(
  store: Store,
  workspaceId: string,
  ids: readonly string[],
): Promise<FoundTemplate[]> {
  return (await findTemplateRows(store, workspaceId, ids)).map(toFound)
}

/** Their rows, in no particular order. */
export async function findTemplateRows(
  { query }: Store,
  workspaceId: string,
  ids: readonly string[],
): Promise<Selectable<TemplateRow>[]> {
  if (ids.length === 0) return []
  // Whole rows, for the reason at `matchingTemplates` in `template-pages.ts`.
  const all = query.selectFrom('templates').selectAll().where('workspace_id', '=', workspaceId)
  return all.where('external_template_id', 'in', ids).execute()
}

/** Why a template cannot join a group; undefined if it can. Without `current`, the template is new. */
export async function findGroupFault(
  store: Store,
  workspaceId: string,
  groupId: string | null,
  current?: CurrentTemplate,
): Promise<Fault | undefined> {
  const [parent] = groupId === null ? [] : await findTemplates(store, workspaceId, [groupId])
  return groupFault(groupId, parent && { role: parent.role, isArchived: parent.archivedAt !== null }, current)
}

/**
 * The id of the template whose latest version has this template id and template version, both of the client; undefined if none has.
 */
export async function findTemplateHolding(
  { query }: Store,
  workspaceId: string,
  { templateId, templateVersion }: TemplateVersion['meta'],
): Promise<string | undefined> {
  const row = await query
    .selectFrom('templates')
    .select('external_template_id')
    .where('workspace_id', '=', workspaceId)
    .where('template_id', '=', templateId)
    .where('template_version', '=', templateVersion)
    .executeTakeFirst()
  return row?.external_template_id
}

/** Makes a version the latest of its template, and puts the template into the group `groupId`. */
export async function saveLatest(
  { query }: Store,
  workspaceId: string,
  latest: TemplateVersion,
  groupId: string | null,
): Promise<void> {
  const { meta } = latest
  const row = {
    version: latest.version,
    template_id: meta.templateId,
    template_name: meta.templateName,
    template_version: meta.templateVersion,
    template_type: meta.templateType,
    template_source: latest.source,
    created_by: meta.createdBy,
    updated_by: latest.updatedBy,
    updated_at: latest.updatedAt,
    group_id: groupId,
    is_child: meta.groupId === null ? 0 : 1,
    locale: meta.locale,
    variation: meta.variation,
  }
  await query
    .insertInto('templates')
    .values({ workspace_id: workspaceId, external_template_id: latest.externalTemplateId, ...row })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'external_template_id']).doUpdateSet(row))
    .execute()
}

/** Makes a parent the default template of its group. */
export async function openGroup({ query }: Store, workspaceId: string, parentId: string): Promise<void> {
  await query
    .updateTable('templates')
    .set({ group_id: parentId })
    .where('workspace_id', '=', workspaceId)
    .where('external_template_id', '=', parentId)
    .execute()
}

/** Takes a parent out of its group if no other template names it. */
export async function closeGroupIfEmpty({ query }: Store, workspaceId: string, parentId: string): Promise<void> {
  const members = query
    .selectFrom('templates as member')
    .select('member.is_child')
    .where('member.workspace_id', '=', workspaceId)
    .where('member.group_id', '=', parentId)
    .where('member.is_child', '=', 1)
  await query
    .updateTable('templates')
    .set({ group_id: null })
    .where('workspace_id', '=', workspaceId)
    .where('external_template_id', '=', parentId)
    .where((row) => row.not(row.exists(members)))
    .execute()
}

/** Archives a template at an instant, or restores it with null. */
export async function saveTemplateArchivedAt(
  { query }: Store,
  workspaceId: string,
  { id, archivedAt }: { readonly id: string; readonly archivedAt: number | null },
): Promise<void> {
  await query
    .updateTable('templates')
    .set({ archived_at: archivedAt })
    .where('workspace_id', '=', workspaceId)
    .where('external_template_id', '=', id)
    .execute()
}

/** Deletes a template, but not its versions. The caller takes its parent out of a group that is now empty. */
export async function removeTemplate({ query }: Store, workspaceId: string, id: string): Promise<void> {
  await query
    .deleteFrom('templates')
    .where('workspace_id', '=', workspaceId)
    .where('external_template_id', '=', id)
    .execute()
}

/** How many templates name this one as their parent: all of them, and those that are not archived. */
export async function countMembers(
  { query }: Store,
  workspaceId: string,
  parentId: string,
): Promise<{ readonly all: number; readonly current: number }> {
  return query
    .selectFrom('templates')
    .select(({ fn }) => fn.countAll<number>().as('all'))
    .select(({ fn }) => fn.countAll<number>().filterWhere('archived_at', 'is', null).as('current'))
    .where('workspace_id', '=', workspaceId)
    .where('group_id', '=', parentId)
    .where('is_child', '=', 1)
    .executeTakeFirstOrThrow()
}

/** A template of a group, with what decides who gets it. */
export interface GroupLocale extends VersionKey {
  readonly locale: string | null
  readonly variation: string | null
}

/**
 * Up to `max` latest versions of a group: its default template first, then the others that have a locale and are not archived, by
 * their ids.
 */
export async function listGroupLocales(
  { query }: Store,
  workspaceId: string,
  parentId: string,
  max: number,
): Promise<GroupLocale[]> {
  return query
    .selectFrom('templates')
    .select(['external_template_id as externalTemplateId', 'version', 'locale', 'variation'])
    .where('workspace_id', '=', workspaceId)
    .where('group_id', '=', parentId)
    .where((row) =>
      row.or([row('is_child', '=', 0), row.and([row('locale', 'is not', null), row('archived_at', 'is', null)])]),
    )
    .orderBy('is_child')
    .orderBy('external_template_id')
    .limit(max)
    .execute()
}

/** Default templates of groups, and whether their archived templates count too. */
interface CountedGroups {
  readonly parentIds: OperandValueExpressionOrList<Tables, 'templates', 'group_id'>
  readonly includesArchived: boolean
}

/** The counts of the groups of these parents; a template that is not a parent has none. */
export function countsOfGroups({ query }: Store, workspaceId: string, { parentIds, includesArchived }: CountedGroups) {
  return query
    .selectFrom('templates')
    .select(({ fn }) => [
      'group_id as parent',
      fn.count<number>('locale').distinct().as('locales'),
      fn.count<number>('variation').distinct().as('variations'),
      fn.countAll<number>().as('templates'),
    ])
    .where('workspace_id', '=', workspaceId)
    .where('group_id', 'in', parentIds)
    .$if(!includesArchived, (all) => all.where('archived_at', 'is', null))
    .groupBy('group_id')
}

/** The rows of all templates, for searches. */
export function allTemplates({ query }: Store) {
  return query.selectFrom('templates')
}

/** The same, with the name of what a search has found. */
export function allTemplatesAsFound({ query }: Store) {
  return query.selectFrom('templates as found')
}

/** The columns of a template that a search returns. */
export type FoundRow = Pick<Selectable<TemplateRow>, (typeof RETURNED)[number]>

export function toFound(row: FoundRow): FoundTemplate {
  const { external_template_id, version, group_id: groupId, is_child, archived_at: archivedAt } = row
  const role = is_child === 1 ? 'child' : groupId === null ? 'single' : 'default'
  return { externalTemplateId: external_template_id, version, role, groupId, archivedAt }
}
