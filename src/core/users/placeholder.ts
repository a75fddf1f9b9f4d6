// Texts that broken clients send instead of an id, the same for everybody ("Identity resolution"). As an id of a user, such a text
// would merge strangers for good.

/** Compared without case and outer spaces. In words: what languages print for no value, and names of what should have been sent. */
export const PLACEHOLDERS: readonly string[] = [
  'undefined',
  'null',
  '(null)',
  'none',
  'nil',
  'nan',
  'n/a',
  'na',
  'true',
  'false',
  '0',
  '-1',
  '[object object]',
  '{}',
  '[]',
  '""',
  "''",
  'unknown',
  'anonymous',
  'anon',
  'guest',
  'not_authenticated',
  'id',
  'user_id',
  'customer_id',
  'distinct_id',
  'distinctid',
  'email',
  'xxxxx',
  '00000000-0000-0000-0000-000000000000',
]

const ALL: ReadonlySet<string> = new Set(PLACEHOLDERS)

/** The problem of an id of a user; undefined if it may be one. */
export function placeholderProblem(id: string): string | undefined {
  const text = id.trim().toLowerCase()
  if (text === '') return 'must not be blank'
  return ALL.has(text) ? `is a placeholder (${text}), not an id: it would make different users one` : undefined
}
