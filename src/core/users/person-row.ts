// One row of an import: a person with ids, attributes and consent, as CSV or JSON holds it. Finds every fault of a row.
import type { Fault } from '../app-error.ts'
import { NAME_LENGTH_MAX } from '../attributes.ts'
import { codePointLength, hiddenProblem, shortenMiddle, textProblem } from '../bounded-text.ts'
import { memberPath } from '../field-path.ts'
import type { WorkspaceSettings } from '../workspace.ts'
import { OPT_IN_STATUSES, toOptInStatus, type PreferenceRequest } from './preference.ts'
import { userAttributeFaults } from './user-attributes.ts'
import { CUSTOMER_ID, isObject, USER_ID_LENGTH_MAX, userReferenceFaults } from './user.ts'

/** The members of a row. Null counts as not sent. */
export interface PersonRow {
  readonly customer_id?: string | null
  readonly user_identifiers?: Readonly<Record<string, unknown>> | null
  readonly attributes?: Readonly<Record<string, unknown>> | null
  readonly opt_in_status?: string | null
  readonly categories?: Readonly<Record<string, boolean>> | null
}

/** A row in the log. The address was replaced by a sealed one where emails are encrypted. */
export interface ImportedRow extends PersonRow {
  readonly sealed_email?: { readonly sealed: string; readonly key: string }
}

/** A row as parsed, before it is checked. */
type UncheckedRow = { readonly [Member in keyof PersonRow]?: unknown }

type RowSettings = Pick<WorkspaceSettings, 'identityResolution' | 'categories'>

const MEMBERS: readonly string[] = [
  CUSTOMER_ID,
  'user_identifiers',
  'attributes',
  'opt_in_status',
  'categories',
] satisfies (keyof PersonRow)[]
/** Members of an exported user that an import ignores. */
const EXPORTED_ONLY: readonly string[] = ['created_at', 'preferences_updated_at', 'cursor']

/** The most characters of a row's problem. */
const PROBLEM_LENGTH_MAX = 300

/** The row that a JSON value is, or its problem. */
export function toPersonRow(value: unknown, settings: RowSettings): PersonRow | string {
  if (!isObject(value)) return 'must be a JSON object'
  const faults = personFaults(value, settings)
  if (faults.length > 0) return toProblem(faults)
  return value
}

/** Faults as one text: the field and the problem of each. */
export function toProblem(faults: readonly Fault[]): string {
  const text = faults.map(({ field, problem }) => `${shortenMiddle(field)} ${problem}`).join('; ')
  return text.length <= PROBLEM_LENGTH_MAX ? text : `${text.slice(0, PROBLEM_LENGTH_MAX - 1)}…`.toWellFormed()
}

/** What a row says about consent; undefined if it says nothing. */
export function toPreferenceRequest(row: PersonRow): PreferenceRequest | undefined {
  const status = typeof row.opt_in_status === 'string' ? toOptInStatus(row.opt_in_status) : undefined
  const categories = row.categories && Object.keys(row.categories).length > 0 ? row.categories : undefined
  return status || categories ? { status, categories } : undefined
}

function personFaults(row: Readonly<Record<string, unknown>>, settings: RowSettings): Fault[] {
  const unknown = Object.keys(row).filter((name) => !MEMBERS.includes(name) && !EXPORTED_ONLY.includes(name))
  const { attributes, customer_id: id } = row as UncheckedRow
  const idProblem = id === undefined || id === null ? undefined : textProblem(id, USER_ID_LENGTH_MAX)
  return [
    ...unknown.map((name) => ({ field: memberPath('', name), problem: 'is not a member of a row' })),
    ...(idProblem === undefined ? [] : [{ field: CUSTOMER_ID, problem: idProblem }]),
    ...userReferenceFaults(row, settings.identityResolution),
    ...identifierSettingFaults(row, settings),
    ...(isObject(attributes) ? attributeFaults(attributes) : objectFaults('attributes', attributes)),
    ...statusFaults(row),
    ...categoryFaults(row, settings),
  ]
}

/** Track User ignores identifiers if identity resolution is off. An import would lose them for every row. */
function identifierSettingFaults(
  { user_identifiers: sent }: UncheckedRow,
  { identityResolution }: RowSettings,
): Fault[] {
  const isUsed = isObject(sent) && Object.values(sent).some((value) => value !== null)
  if (!isUsed || identityResolution.length > 0) return []
  return [{ field: 'user_identifiers', problem: 'cannot be used, because identity resolution is off' }]
}

/** The faults that the schema of Track User finds there, and those beyond it. */
function attributeFaults(attributes: Readonly<Record<string, unknown>>): Fault[] {
  const faults: Fault[] = []
  const { email, mobile, locale, timezone } = attributes
  const texts = { email, mobile: typeof mobile === 'number' ? String(mobile) : mobile, locale, timezone }
  if (typeof mobile === 'number' && !(Number.isSafeInteger(mobile) && mobile >= 0)) {
    faults.push({ field: 'attributes.mobile', problem: 'must be a string or a whole number' })
  }
  for (const [name, value] of Object.entries(texts)) {
    const problem = knownTextProblem(name, value)
    if (problem !== undefined) faults.push({ field: `attributes.${name}`, problem })
  }
  return [...faults, ...userAttributeFaults(attributes)]
}

function knownTextProblem(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') return 'must be a string or null'
  if (name === 'email') return undefined
  if (codePointLength(value) > NAME_LENGTH_MAX) return `must have at most ${NAME_LENGTH_MAX} characters`
  return hiddenProblem(value)
}

function objectFaults(field: string, value: unknown): Fault[] {
  return value === undefined || value === null ? [] : [{ field, problem: 'must be an object' }]
}

function statusFaults({ opt_in_status: status }: UncheckedRow): Fault[] {
  if (status === undefined || status === null) return []
  if (typeof status === 'string' && toOptInStatus(status)) return []
  return [{ field: 'opt_in_status', problem: `must be one of ${OPT_IN_STATUSES.join(', ')}` }]
}

function categoryFaults({ categories }: UncheckedRow, { categories: active }: RowSettings): Fault[] {
  if (!isObject(categories)) return objectFaults('categories', categories)
  return Object.entries(categories).flatMap(([name, value]) => {
    const field = memberPath('categories', name)
    if (!active.includes(name)) return [{ field, problem: 'is not an active category of this workspace' }]
    return typeof value === 'boolean' ? [] : [{ field, problem: 'must be true or false' }]
  })
}
