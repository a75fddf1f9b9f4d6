// Add suppression: an address is not sent to from now on.
import { Type } from 'typebox'
import { answerOnce } from '../../actions/answer-once.ts'
import { toEmailKey } from '../../actions/email-protection.ts'
import { suppressAddress } from '../../actions/feedback/suppress-address.ts'
import { SUPPRESSION_REASONS } from '../../core/delivery/suppression.ts'
import { answerAsFirst, startRequestHash, toRepeatable } from '../create-once.ts'
import { NoFields, OneOf, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import {
  Evidence,
  SuppressedEmail,
  SuppressionOutput,
  suppressionFaults,
  toSuppressionBody,
} from './suppression-body.ts'

export const addSuppression = defineOperation({
  name: 'add_suppression',
  summary: 'Add suppression',
  description:
    'Suppresses an address: no campaign is sent to it, not even one that is running. Of two reasons the stronger stays, in ' +
    `the order ${SUPPRESSION_REASONS.map((reason) => `\`${reason}\``).join(', ')}; of equal ones the first. Answers with ` +
    'the suppression that is stored then.',
  group: 'Suppressions and feedback',
  method: 'POST',
  url: '/core-services/v1/suppressions',
  requires: 'suppressions.write',
  takesAppKey: true,
  takesIdempotencyKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: NoFields,
  body: Strict({
    email: SuppressedEmail,
    reason: Type.Optional(OneOf(SUPPRESSION_REASONS, 'Default: `manual`.')),
    evidence: Type.Optional(Evidence),
  }),
  example: { email: 'anna@example.com', evidence: 'She asked us by phone.' },
  faults: ({ workspace, body }) => suppressionFaults(workspace, 'email', body?.email),
  successStatus: 201,
  output: SuppressionOutput,
  async handle(request, { database, emailVault: vault }) {
    const { workspace, path, body } = request
    const { email, reason = 'manual', evidence = null } = body
    // Neither the hash nor the answer that is kept for repeats may hold an address that the workspace encrypts.
    const wanted = JSON.stringify([toEmailKey(workspace, email, vault), reason, evidence])
    const repeatable = toRepeatable(request, startRequestHash('add_suppression', path).update(wanted))
    const first = await database.write(async (store) => {
      await store.lock(`suppressions of ${workspace.id}`)
      return answerOnce(store, repeatable, () => {
        return suppressAddress(store, { workspace, vault, email, reason, evidence, by: request })
      })
    })
    return toSuppressionBody(workspace, answerAsFirst(request, first), vault)
  },
})
