// A search for email templates: its filters, its order, and whether it names exact versions.

/** The filters of "Search Email Template". A template must match all of them, and any value of each. */
export const TEMPLATE_FILTERS = [
  'externalTemplateId',
  'groupId',
  'templateId',
  'templateName',
  'templateVersion',
  'templateType',
  'templateSource',
  'createdBy',
  'updatedBy',
] as const
export type TemplateFilter = (typeof TEMPLATE_FILTERS)[number]

/** Filter → its alternatives, at least one; a filter that was not sent is absent. */
export type TemplateFilters = { readonly [filter in TemplateFilter]?: readonly string[] }

export const SORT_KEYS = ['template_name', 'last_modified_date', 'last_modified_by'] as const
export type SortKey = (typeof SORT_KEYS)[number]
export const SORT_ORDERS = ['ASCENDING', 'DESCENDING'] as const
export type SortOrder = (typeof SORT_ORDERS)[number]

export interface SortRule {
  readonly key: SortKey
  readonly order: SortOrder
}

const DEFAULT_SORT: readonly [SortRule] = [{ key: 'last_modified_date', order: 'DESCENDING' }]

/** At least one rule, the most important first, each key once. */
export type Sort = readonly [SortRule, ...SortRule[]]

/** A search for the latest versions. */
export interface TemplateSearch {
  readonly filters: TemplateFilters
  /** Only default templates of groups and templates in no group. */
  readonly isGrouped: boolean
  readonly includesArchived: boolean
  readonly sort: Sort
}

/** The order of a search ("sort_params"): earlier items take precedence, and within an item earlier keys. */
export function toSort(params: readonly { readonly [key in SortKey]?: SortOrder | undefined }[]): Sort {
  const orders = new Map<SortKey, SortOrder>()
  for (const param of params) {
    // A repeated key has no effect.
    for (const [key, order] of Object.entries(param)) if (!orders.has(key as SortKey)) orders.set(key as SortKey, order)
  }
  const [first = DEFAULT_SORT[0], ...others] = [...orders].map(([key, order]) => ({ key, order }))
  return [first, ...others]
}

/** A filter without its empty strings; undefined if none is left ("An empty array or empty string is no filter"). */
export function alternatives(values: readonly (string | undefined)[] | undefined): readonly string[] | undefined {
  const given = new Set(values?.filter((value) => value !== undefined))
  given.delete('')
  return given.size > 0 ? [...given] : undefined
}

/** Whether a search has only template ids, so that it means exactly the named versions, archived or not ("Latest or older"). */
export function meansExactVersions({ filters, isGrouped }: TemplateSearch): boolean {
  const { externalTemplateId, ...others } = filters
  return externalTemplateId !== undefined && !isGrouped && Object.values(others).every((values) => values === undefined)
}
