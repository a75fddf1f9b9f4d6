// `audit list`: shows who changed what in a workspace.
import { requireWorkspace } from '../../actions/workspaces/require-workspace.ts'
import type { Config } from '../../app/config.ts'
import { AUDIT_KINDS, type AuditEntry } from '../../core/accounts/audit.ts'
import type { FieldChange } from '../../core/accounts/field-changes.ts'
import { invalidRequest, type Fault } from '../../core/app-error.ts'
import { toIso } from '../../core/time-value.ts'
import { AUDIT_CURSOR, toAuditBody } from '../../operations/audit/audit-body.ts'
import { auditCursorFaults, toAuditFilters } from '../../operations/audit/list-audit.ts'
import { timeRangeFaults } from '../../operations/exports/time-range.ts'
import { listAuditEntries } from '../../store/accounts/audit-entries.ts'
import { EmailVault } from '../../store/users/email-vault.ts'
import type { Command, CommandCall } from '../command.ts'
import { withStore } from '../with-store.ts'

/** The entries of one page of the list. */
const PAGE_ENTRIES = 100

const list: Command = {
  name: 'audit list',
  operands: ['ID'],
  options: {
    kind: { value: AUDIT_KINDS.join('|'), summary: 'Only changes of this kind.' },
    who: { value: 'WHO', summary: 'Only by key:data, key:reports, person:EMAIL or command:USER.' },
    action: { value: 'NAME', summary: 'Only by the operation with this name, such as update_template.' },
    subject: { value: 'ID', summary: 'Only of what has this id; of a suppression, its address.' },
    from: { value: 'TIME', summary: 'Only from this time on.' },
    to: { value: 'TIME', summary: 'Only before this time.' },
    before: { value: 'CURSOR', summary: 'Lists earlier entries.' },
  },
  summary: `Lists who changed what in a workspace, newest first, ${PAGE_ENTRIES} at a time.`,
  async run({ config, operands: [id = ''], option, print }) {
    // One more than a page tells whether there is another page.
    const found = await findEntries(config, { id, option }, PAGE_ENTRIES + 1)
    const shown = found.slice(0, PAGE_ENTRIES)
    const last = found.length > PAGE_ENTRIES ? shown.at(-1) : undefined
    const nextBefore = last ? AUDIT_CURSOR.write(last) : null
    const more = nextBefore === null ? '' : `More: tidings audit list ${id} --before ${nextBefore}\n`
    print({
      json: { workspace_id: id, data: shown.map(toAuditBody), next_before: nextBefore },
      text: shown.map(toLines).join('') + more,
    })
  },
}

export const auditCommands: readonly Command[] = [list]

function findEntries(
  config: Config,
  { id, option }: Pick<CommandCall, 'option'> & { readonly id: string },
  max: number,
): Promise<AuditEntry[]> {
  const kind = AUDIT_KINDS.find((known) => known === option('kind'))
  const [who, action, subject, from, to, before] = ['who', 'action', 'subject', 'from', 'to', 'before'].map(option)
  return withStore(config, async (database) => {
    const { workspace } = await requireWorkspace(database, id)
    const faults = [
      ...(option('kind') === undefined || kind ? [] : [UNKNOWN_KIND]),
      ...timeRangeFaults({ from, to }, workspace).map(({ field, problem }) => ({
        field: field.replace('query.', '--'),
        problem,
      })),
      ...auditCursorFaults('--before', before),
    ]
    if (faults.length > 0) throw invalidRequest(faults)
    const emailVault = config.piiKey && new EmailVault(config.piiKey)
    const filters = toAuditFilters({ kind, who, action, subject, from, to }, { workspace, emailVault })
    const cursor = before === undefined ? undefined : AUDIT_CURSOR.parse(before)
    return listAuditEntries(database, id, { filters, before: cursor, max })
  })
}

const UNKNOWN_KIND: Fault = { field: '--kind', problem: `must be one of ${AUDIT_KINDS.join(', ')}` }

/** A line for the entry, and one for each field. */
function toLines({ number, at, who, action, subjectId, subjectName, changes, furtherChanges }: AuditEntry): string {
  const subject = subjectName === null ? subjectId : `${subjectId}  ${JSON.stringify(subjectName)}`
  const more = furtherChanges === 0 ? [] : [`    and ${furtherChanges} more`]
  return [`${number}  ${toIso(at)}  ${who}  ${action}  ${subject}`, ...changes.map(toChangeLine), ...more, ''].join(
    '\n',
  )
}

function toChangeLine({ field, before, after }: FieldChange): string {
  if (before === null && after === null) return `    ${field}: (not kept)`
  return `    ${field}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`
}
