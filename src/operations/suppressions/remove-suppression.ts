// Remove suppression: an address may be sent to again.
import { toEmailKey } from '../../actions/email-protection.ts'
import { liftSuppression } from '../../actions/feedback/suppress-address.ts'
import { AppError } from '../../core/app-error.ts'
import { NoFields, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { SuppressedEmail, suppressionFaults } from './suppression-body.ts'

export const removeSuppression = defineOperation({
  name: 'remove_suppression',
  summary: 'Remove suppression',
  description:
    'Lifts the suppression of an address. Its soft bounces are forgotten, so that five more must follow before they suppress ' +
    'it again. What the person opted out of stays.',
  group: 'Suppressions and feedback',
  method: 'DELETE',
  url: '/core-services/v1/suppressions',
  requires: 'suppressions.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: Strict({ email: SuppressedEmail }),
  body: null,
  faults: ({ workspace, query }) => suppressionFaults(workspace, 'query.email', query.email),
  refusals: ['not_found'],
  successStatus: 204,
  output: null,
  async handle(request, { database, emailVault }) {
    const { workspace, query } = request
    const emailKey = toEmailKey(workspace, query.email, emailVault)
    if (await database.write((store) => liftSuppression(store, { workspace, emailKey, by: request }))) return
    throw new AppError('not_found', 'The address is not suppressed.')
  },
})
