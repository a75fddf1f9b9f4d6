// Accept access link: creates the person of an invitation or of the set-up, or sets a new password; then signs in.
import { Type } from 'typebox'
import { AppError, invalidRequest, type Fault } from '../../core/app-error.ts'
import type { AccessLink } from '../../core/accounts/access-link.ts'
import { PASSWORD_LENGTH_MAX, passwordProblem } from '../../core/accounts/password-rules.ts'
import { PERSON_NAME_LENGTH_MAX, personEmailProblem, personNameProblem } from '../../core/accounts/person.ts'
import { EMAIL_LENGTH_MAX } from '../../core/users/email-address.ts'
import { findPersonByEmail } from '../../store/accounts/people.ts'
import { openSession } from '../../actions/accounts/open-session.ts'
import { useAccessLink } from '../../actions/accounts/use-access-link.ts'
import { hashToken } from '../../actions/accounts/secret-token.ts'
import { Content, NoFields, Strict, Text } from '../fields.ts'
import { defineOperation, STRANGERS_BODY_BYTES_MAX } from '../operation.ts'
import { LinkToken, noSuchLink, requireAccessLink } from './require-access-link.ts'
import { readSessionBody, SessionOutput } from './session-body.ts'

export const acceptAccessLink = defineOperation({
  name: 'accept_access_link',
  summary: 'Accept an access link',
  description:
    'Uses a link up and signs in. For the set-up, send `email`, `name` and `password`; for an invitation `name` and ' +
    '`password`; for a new password only `password`, which ends the other sessions of the person. A password has 12 or more ' +
    'characters and is not among those that are tried first. Somebody who has an account signs in and uses ' +
    '`POST /v1/access-links/join`.',
  group: 'People and sessions',
  method: 'POST',
  url: '/v1/access-links/accept',
  requires: 'nothing',
  takesAppKey: false,
  limits: [],
  path: NoFields,
  query: NoFields,
  bodyBytesMax: STRANGERS_BODY_BYTES_MAX,
  body: Strict({
    token: LinkToken,
    email: Type.Optional(Text(1, EMAIL_LENGTH_MAX, 'Only for the set-up.')),
    name: Type.Optional(Text(1, PERSON_NAME_LENGTH_MAX, 'Not for a new password.')),
    password: Content(1, PASSWORD_LENGTH_MAX),
  }),
  example: { token: 'k3Xv…', name: 'Ada Lovelace', password: 'a sentence that only Ada knows' },
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: SessionOutput,
  async handle({ body, callerAddress: address, now, header, isSecure, setSession }, parts) {
    const { database, passwordHashes } = parts
    const link = await requireAccessLink(database, body.token, now)
    // A link for a new password is answered without the name, which others know all the same.
    const known = link.kind === 'reset' && link.email !== null && (await findPersonByEmail(database, link.email))
    const faults = linkFaults(link, body, known ? known.name : undefined)
    if (faults.length > 0) throw invalidRequest(faults)
    const password = await passwordHashes.hash(body.password)
    const opened = await database.write(async (store) => {
      const chosen = { hash: hashToken(body.token), link, email: body.email, name: body.name, password, now }
      const person = await useAccessLink(store, chosen)
      if (person === 'gone') throw noSuchLink()
      if (person === 'taken')
        throw new AppError('conflict', 'This address already has an account. Sign in, then use the link again.')
      return { person, ...(await openSession(store, person.number, { address, agent: header('user-agent'), now })) }
    })
    parts.signInDelays.forget({ email: opened.person.email })
    setSession(opened.token)
    return readSessionBody(database, { sessionId: opened.session.id, personId: opened.person.id, isSecure })
  },
})

interface Chosen {
  readonly email?: string
  readonly name?: string
  readonly password: string
}

/** `knownName`: of the person who chooses a new password. */
function linkFaults({ kind, email }: AccessLink, chosen: Chosen, knownName: string | undefined): Fault[] {
  const faults: Fault[] = []
  const add = (field: string, problem: string | undefined) => {
    if (problem !== undefined) faults.push({ field, problem })
  }
  if (kind === 'setup') add('email', chosen.email === undefined ? 'is required' : personEmailProblem(chosen.email))
  else if (chosen.email !== undefined) add('email', 'must not be sent: the link has one')
  if (kind !== 'reset') add('name', chosen.name === undefined ? 'is required' : personNameProblem(chosen.name))
  else if (chosen.name !== undefined) add('name', 'must not be sent for a new password')
  const personal = [email, knownName, chosen.email, chosen.name].filter((text) => text !== undefined && text !== null)
  add('password', passwordProblem(chosen.password, personal))
  return faults
}
