// The rules of templates, groups and sorting that need no server.
import { describe, expect, it } from 'vitest'
import {
  alternatives,
  meansExactVersions,
  toSort,
  type TemplateFilters,
} from '../../src/core/templates/template-search.ts'
import {
  firstVersion,
  groupFault,
  nextVersion,
  templateSourceOf,
  type CurrentTemplate,
  type GroupRole,
  type TemplateMeta,
} from '../../src/core/templates/template.ts'

const meta: TemplateMeta = {
  templateId: 't',
  templateName: 'T',
  templateVersion: '1',
  templateType: 'CUSTOM',
  createdBy: 'anna',
  groupId: null,
  locale: null,
  variation: null,
}
const details = { emailContent: '<p>', subject: 's', attachments: [], thumbnailUrl: '', senderName: '' }

function template(role: GroupRole): CurrentTemplate {
  const groupId = role === 'child' ? 'parent' : null
  const latest = firstVersion('own', { details, meta: { ...meta, groupId }, source: 'API' }, 1_000)
  return { latest, role, archivedAt: null }
}

describe('the source of a template', () => {
  it('is the dashboard if a person creates it, and the API otherwise', () => {
    expect(templateSourceOf({ kind: 'person' })).toBe('DASHBOARD')
    expect(templateSourceOf({ kind: 'key' })).toBe('API')
  })
})

describe('group_id', () => {
  const cases: [current: GroupRole | 'new', groupId: string | null, parent: GroupRole | 'none', may: boolean][] = [
    ['new', 'other', 'single', true],
    ['new', 'other', 'default', true],
    ['new', 'other', 'child', false],
    ['new', 'other', 'none', false],
    ['new', null, 'none', true],
    ['single', 'other', 'single', true],
    ['single', 'other', 'default', true],
    ['single', 'other', 'child', false],
    ['single', 'other', 'none', false],
    ['single', 'own', 'single', false],
    ['single', null, 'none', true],
    ['child', 'parent', 'default', true],
    ['child', 'other', 'single', true],
    ['child', 'other', 'child', false],
    ['child', 'other', 'none', false],
    ['child', 'own', 'child', false],
    ['child', null, 'none', true],
    ['default', 'own', 'default', true],
    ['default', 'other', 'single', false],
    ['default', null, 'none', false],
  ]
  it.each(cases)('of a %s template may name %s, which is %s: %s', (current, groupId, parent, may) => {
    const now = current === 'new' ? undefined : template(current)
    const fault = groupFault(groupId, parent === 'none' ? undefined : { role: parent, isArchived: false }, now)
    expect(fault?.field).toBe(may ? undefined : 'meta_info.group_id')
  })

  it.each(['new', 'single', 'child'] as const)('of a %s template must not name an archived template', (current) => {
    const now = current === 'new' ? undefined : template(current)
    const fault = groupFault('other', { role: 'single', isArchived: true }, now)
    expect(fault).toEqual({
      field: 'meta_info.group_id',
      problem: 'is the id of an archived template: restore it first',
    })
  })
})

describe('the next version of a template', () => {
  const by = { updatedBy: 'ben', now: 2_000 }

  it('has the changed members and all others of the previous version', () => {
    const made = nextVersion(template('single'), { details: { subject: 'new' }, meta: { locale: 'de' } }, by)
    expect(made).toEqual({
      externalTemplateId: 'own',
      version: 2,
      details: { ...details, subject: 'new' },
      meta: { ...meta, locale: 'de' },
      source: 'API',
      createdAt: 1_000,
      updatedAt: 2_000,
      updatedBy: 'ben',
    })
  })

  it('is never dated before the previous version', () => {
    expect(nextVersion(template('single'), { details: {}, meta: {} }, { ...by, now: 500 }).updatedAt).toBe(1_000)
  })

  it('that is a default names no parent, even if its own id is sent as its group', () => {
    expect(nextVersion(template('default'), { details: {}, meta: { groupId: 'own' } }, by).meta.groupId).toBeNull()
  })
})

describe('sort_params', () => {
  const ascending = 'ASCENDING'
  const descending = 'DESCENDING'
  const cases: [rule: string, params: Parameters<typeof toSort>[0], sort: string[]][] = [
    ['default to last_modified_date DESCENDING', [], ['last_modified_date DESCENDING']],
    ['ignore an item without keys', [{}], ['last_modified_date DESCENDING']],
    [
      'take priority in the order of the array',
      [{ last_modified_by: descending }, { template_name: ascending }],
      ['last_modified_by DESCENDING', 'template_name ASCENDING'],
    ],
    [
      'take priority in the order of each object',
      [{ last_modified_date: ascending, template_name: descending }, { last_modified_by: ascending }],
      ['last_modified_date ASCENDING', 'template_name DESCENDING', 'last_modified_by ASCENDING'],
    ],
    [
      'ignore a repeated key',
      [{ template_name: descending }, { template_name: ascending }],
      ['template_name DESCENDING'],
    ],
  ]
  it.each(cases)('%s', (_rule, params, sort) => {
    expect(toSort(params).map(({ key, order }) => `${key} ${order}`)).toEqual(sort)
  })
})

describe('filters', () => {
  it.each([
    [undefined, undefined],
    [[], undefined],
    [[''], undefined],
    [[undefined], undefined],
    [
      ['', 'a', 'a', 'b'],
      ['a', 'b'],
    ],
  ])('read %j as the alternatives %j', (values, expected) => {
    expect(alternatives(values)).toEqual(expected)
  })

  const cases: [rule: string, filters: TemplateFilters, isGrouped: boolean, exact: boolean][] = [
    ['with only ids select exactly those versions', { externalTemplateId: ['a'] }, false, true],
    [
      'with ids and an undefined filter select exactly those versions',
      { externalTemplateId: ['a'], groupId: undefined },
      false,
      true,
    ],
    [
      'with ids and another filter select the latest versions',
      { externalTemplateId: ['a'], groupId: ['g'] },
      false,
      false,
    ],
    ['with ids for a grouped answer select the latest versions', { externalTemplateId: ['a'] }, true, false],
    ['without ids select the latest versions', {}, false, false],
  ]
  it.each(cases)('%s', (_rule, filters, isGrouped, exact) => {
    expect(meansExactVersions({ filters, isGrouped, includesArchived: false, sort: toSort([]) })).toBe(exact)
  })
})
