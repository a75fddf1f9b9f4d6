// Email preferences on the wire, as responses show current ones and those in proofs of consent.
import { Type } from 'typebox'
import { OPT_IN_STATUSES, type OptIn } from '../../core/users/preference.ts'
import { OneOf } from '../fields.ts'

export const OptInOutput = {
  opt_in_status: OneOf(OPT_IN_STATUSES),
  categories: Type.Record(Type.String(), Type.Boolean(), {
    description: 'Category name → whether the user opted in. A category that was never set is absent.',
  }),
  tracking: Type.Optional(
    Type.Boolean({ description: 'Whether opens and clicks may be tracked. Absent until it is set, which allows it.' }),
  ),
}

export function toOptInBody({ status, categories, tracking }: OptIn) {
  return { opt_in_status: status, categories, ...(tracking !== undefined && { tracking }) }
}
