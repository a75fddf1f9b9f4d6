// The fields of suppressions in requests and responses, and the faults that their operations share.
import { Type } from 'typebox'
import { addressFault, shownAddress, suppressionsProblem } from '../../actions/feedback/suppress-address.ts'
import type { Fault } from '../../core/app-error.ts'
import { EVIDENCE_LENGTH_MAX, SUPPRESSION_REASONS, type Suppression } from '../../core/delivery/suppression.ts'
import { toIso } from '../../core/time-value.ts'
import type { Workspace } from '../../core/workspace.ts'
import type { EmailVault } from '../../store/users/email-vault.ts'
import { Content, IsoTime, Nullable, OneOf, Text } from '../fields.ts'

/** Longer than any address, so that an address may have spaces around it. */
const EMAIL_TEXT_LENGTH_MAX = 1_024

export const SuppressedEmail = Text(0, EMAIL_TEXT_LENGTH_MAX, 'The address. Case and outer spaces are ignored.')
export const Evidence = Content(0, EVIDENCE_LENGTH_MAX, 'What shows the reason, for people.')

export const SuppressionOutput = Type.Object({
  email: Nullable(Type.String({ description: 'Null if only a hash of the address is known.' })),
  reason: OneOf(SUPPRESSION_REASONS, 'Why the address is not sent to.'),
  since: IsoTime,
  evidence: Nullable(Type.String({ description: 'What shows the reason, such as the reply of a server.' })),
})

export function toSuppressionBody(workspace: Workspace, suppression: Suppression, vault: EmailVault | undefined) {
  const { reason, since, evidence } = suppression
  return { email: shownAddress(workspace, suppression, vault), reason, since: toIso(since), evidence }
}

/** The faults of a request about suppressions. `email`: as sent, with its field; undefined if the schema refused it. */
export function suppressionFaults(workspace: Workspace, field: string, email: string | undefined): Fault[] {
  const problem = suppressionsProblem(workspace)
  const fault = email === undefined ? undefined : addressFault(field, email)
  return [...(problem === undefined ? [] : [{ field: 'header.SVC-APPKEY', problem }]), ...(fault ? [fault] : [])]
}
