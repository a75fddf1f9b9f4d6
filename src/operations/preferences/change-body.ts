// A proof of consent on the wire, as the history of a user and the export show it.
import { Type } from 'typebox'
import { toIso } from '../../core/time-value.ts'
import type { PreferenceChange } from '../../core/users/preference.ts'
import { IsoTime, Nullable } from '../fields.ts'
import { OptInOutput, toOptInBody } from './opt-in-body.ts'

export const ChangeOutput = Type.Object({
  at: IsoTime,
  by: Type.String({
    description:
      '`key:` and the tile of the API key, `person:` and the address of somebody who signed in, `link:` and the link in an ' +
      'email, `complaint:` and the message that was reported as spam, `import:` and the id of an import, `merge` if two users ' +
      'turned out to be the same person, who then has the newest decisions of both, or `address` if the user got an address ' +
      'that was opted out by `email_id`.',
  }),
  ip: Nullable(Type.String({ description: 'IP address that sent the change; null if no client sent it.' })),
  before: Type.Object(OptInOutput),
  after: Type.Object(OptInOutput),
})

export function toChangeBody({ at, by, ip, before, after }: PreferenceChange) {
  return { at: toIso(at), by, ip, before: toOptInBody(before), after: toOptInBody(after) }
}
