// `suppression add|remove|list`: shows and changes the addresses that must not be sent to.
import { requireWorkspace } from '../../actions/workspaces/require-workspace.ts'
import { toEmailKey } from '../../actions/email-protection.ts'
import {
  addressFault,
  liftSuppression,
  shownAddress,
  suppressAddress,
  suppressionsProblem,
} from '../../actions/feedback/suppress-address.ts'
import type { Config } from '../../app/config.ts'
import { AppError, invalidRequest } from '../../core/app-error.ts'
import { unstorableProblem } from '../../core/bounded-text.ts'
import { EVIDENCE_LENGTH_MAX, SUPPRESSION_REASONS, type Suppression } from '../../core/delivery/suppression.ts'
import { toIso } from '../../core/time-value.ts'
import type { Workspace } from '../../core/workspace.ts'
import { listSuppressionsAfter } from '../../store/senders/suppressions.ts'
import type { Database } from '../../store/store.ts'
import { EmailVault } from '../../store/users/email-vault.ts'
import { changedByCommand } from '../audit/changed-by-command.ts'
import type { Command } from '../command.ts'
import { withStore } from '../with-store.ts'

/** The suppressions of one page of the list. */
const PAGE_SUPPRESSIONS = 100

const add: Command = {
  name: 'suppression add',
  operands: ['ID', 'EMAIL'],
  options: {
    reason: { value: SUPPRESSION_REASONS.join('|'), summary: 'Why. Default: manual.' },
    evidence: { value: 'TEXT', summary: 'What shows the reason.' },
  },
  summary: 'Suppresses an address, so that no campaign is sent to it.',
  async run({ config, operands: [id = '', email = ''], option, print }) {
    const reason = SUPPRESSION_REASONS.find((known) => known === (option('reason') ?? 'manual'))
    const evidence = option('evidence') ?? null
    const faults = [
      ...(reason ? [] : [{ field: '--reason', problem: `must be one of ${SUPPRESSION_REASONS.join(', ')}` }]),
      ...evidenceFaults(evidence),
    ]
    if (!reason || faults.length > 0) throw invalidRequest(faults)
    const stored = await withAddress(config, { id, email }, ({ database, workspace, vault }) => {
      const wanted = { workspace, vault, email, reason, evidence, by: changedByCommand(id) }
      return database.write(async (store) => toBody(workspace, await suppressAddress(store, wanted), vault))
    })
    print({ json: { workspace_id: id, ...stored }, text: toLine(stored) })
  },
}

const remove: Command = {
  name: 'suppression remove',
  operands: ['ID', 'EMAIL'],
  options: {},
  summary: 'Lifts the suppression of an address.',
  async run({ config, operands: [id = '', email = ''], print }) {
    const isLifted = await withAddress(config, { id, email }, ({ database, workspace, vault }) => {
      const emailKey = toEmailKey(workspace, email, vault)
      return database.write((store) => liftSuppression(store, { workspace, emailKey, by: changedByCommand(id) }))
    })
    if (!isLifted) throw new AppError('not_found', `The address ${JSON.stringify(email)} is not suppressed.`)
    print({ json: { workspace_id: id, email, outcome: 'removed' }, text: `${email} may be sent to again.\n` })
  },
}

const list: Command = {
  name: 'suppression list',
  operands: ['ID'],
  options: { after: { value: 'KEY', summary: 'Lists addresses after this one.' } },
  summary: `Lists the suppressed addresses of a workspace, ${PAGE_SUPPRESSIONS} at a time.`,
  async run({ config, operands: [id = ''], option, print }) {
    const after = option('after') ?? ''
    const { found, bodies } = await withStore(config, async (database) => {
      const { workspace } = await requireWorkspace(database, id)
      // One more than a page tells whether there is another page.
      const listed = await listSuppressionsAfter(database, id, { after, max: PAGE_SUPPRESSIONS + 1 })
      const shown = listed.slice(0, PAGE_SUPPRESSIONS)
      return { found: listed, bodies: shown.map((suppression) => toBody(workspace, suppression, vaultOf(config))) }
    })
    const nextAfter = found.length > PAGE_SUPPRESSIONS ? (found[PAGE_SUPPRESSIONS - 1]?.emailKey ?? null) : null
    const more = nextAfter === null ? '' : `More: tidings suppression list ${id} --after ${nextAfter}\n`
    print({
      json: { workspace_id: id, suppressions: bodies, next_after: nextAfter },
      text: bodies.map(toLine).join('') + more,
    })
  },
}

export const suppressionCommands: readonly Command[] = [add, remove, list]

interface AddressContext {
  readonly database: Database
  readonly workspace: Workspace
  readonly vault: EmailVault | undefined
}

/** Works on a valid address in a workspace that can suppress some. Throws AppError `invalid_request` or `not_found`. */
function withAddress<Result>(
  config: Config,
  { id, email }: { readonly id: string; readonly email: string },
  work: (context: AddressContext) => Promise<Result>,
): Promise<Result> {
  return withStore(config, async (database) => {
    const { workspace } = await requireWorkspace(database, id)
    const problem = suppressionsProblem(workspace)
    const fault = addressFault('EMAIL', email)
    const faults = [...(problem === undefined ? [] : [{ field: 'ID', problem }]), ...(fault ? [fault] : [])]
    if (faults.length > 0) throw invalidRequest(faults)
    return work({ database, workspace, vault: vaultOf(config) })
  })
}

function vaultOf({ piiKey }: Config): EmailVault | undefined {
  return piiKey && new EmailVault(piiKey)
}

function evidenceFaults(evidence: string | null) {
  if (evidence === null) return []
  const isLong = evidence.length > EVIDENCE_LENGTH_MAX
  const problem = isLong ? `must have at most ${EVIDENCE_LENGTH_MAX} characters` : unstorableProblem(evidence)
  return problem === undefined ? [] : [{ field: '--evidence', problem }]
}

function toBody(workspace: Workspace, suppression: Suppression, vault: EmailVault | undefined) {
  const { reason, since, evidence } = suppression
  return { email: shownAddress(workspace, suppression, vault), reason, since: toIso(since), evidence }
}

function toLine({ email, reason, since, evidence }: ReturnType<typeof toBody>): string {
  return [email ?? '(only a hash is known)', reason, since, evidence ?? ''].join('  ').trimEnd() + '\n'
}
