// Reads the groups of fields in which mail systems report on messages (RFC 3464, section 2.1; RFC 5965, section 3.1). They look like
// the headers of a message.

/** Name in lower case → its values, in order. */
export type ReportFields = ReadonlyMap<string, readonly string[]>

/** A report on one message has one group for it, and one for each of its recipients. */
const GROUPS_MAX = 100
const FIELDS_MAX = 100

/** The groups of fields in a report. Lines that are no fields are left out: reports of old systems have some. */
export function parseFieldGroups(text: string): ReportFields[] {
  const groups = text.replaceAll(/\r\n?/g, '\n').split(/\n[ \t]*\n/)
  return groups.slice(0, GROUPS_MAX).flatMap((group) => {
    const fields = parseFields(group)
    return fields.size > 0 ? [fields] : []
  })
}

function parseFields(group: string): ReportFields {
  const fields = new Map<string, string[]>()
  const unfolded = group.replaceAll(/\n[ \t]+/g, ' ').split('\n')
  for (const line of unfolded.slice(0, FIELDS_MAX)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase()
    if (!/^[!-9;-~]+$/.test(name)) continue
    fields.set(name, [...(fields.get(name) ?? []), line.slice(colon + 1).trim()])
  }
  return fields
}

/** The first value of a field; undefined if the group does not have it. */
export function fieldOf(fields: ReportFields, name: string): string | undefined {
  return fields.get(name)?.[0]
}

/** The value of a field such as `smtp; 550 5.1.1 unknown`, without its type. */
export function untyped(value: string): string {
  return value.slice(value.indexOf(';') + 1).trim()
}
