// Confirm authenticator: from now on, signing in takes a code. Returns recovery codes, once.
import { Type } from 'typebox'
import { AppError, invalidRequest } from '../../core/app-error.ts'
import { requireTotp } from '../../actions/accounts/accept-code.ts'
import { findTotpStep, hashRecoveryCode, newRecoveryCodes } from '../../actions/accounts/totp.ts'
import { saveConfirmedTotp } from '../../store/accounts/people.ts'
import { NoFields, Strict, Text } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireCaller } from './person-of.ts'

export const confirmTotp = defineOperation({
  name: 'confirm_totp',
  summary: 'Confirm an authenticator',
  description:
    'Checks a first code of the authenticator. From then on, signing in takes a code. Returns recovery codes for somebody who ' +
    'has lost the device: each works once, and they are shown only now.',
  group: 'People and sessions',
  method: 'PUT',
  url: '/v1/people/me/totp',
  requires: 'session',
  takesAppKey: false,
  limits: [],
  path: NoFields,
  query: NoFields,
  body: Strict({ code: Text(1, 32, 'The six digits that the app shows.') }),
  example: { code: '123456' },
  refusals: ['conflict'],
  successStatus: 200,
  output: Type.Object({ recovery_codes: Type.Array(Type.String()) }),
  async handle({ body, credential, callerAddress: address, now }, { database, secretVault, signInDelays }) {
    const person = await requireCaller(database, credential)
    const { sealedTotp } = person
    if (sealedTotp === null) throw new AppError('conflict', 'Begin with POST /v1/people/me/totp.')
    const attempt = { email: person.email, address, now }
    const step = await signInDelays.attempt(attempt, async () => {
      const found = findTotpStep(requireTotp(secretVault, person.id, sealedTotp), body.code, now)
      if (found !== undefined) return found
      signInDelays.addFailure(attempt)
      throw invalidRequest([{ field: 'code', problem: 'is not the current code in the app' }])
    })
    const codes = newRecoveryCodes()
    const confirmed = { step, recoveryCodes: codes.map(hashRecoveryCode) }
    const isConfirmed = await database.write((store) => saveConfirmedTotp(store, person, confirmed))
    if (!isConfirmed)
      throw new AppError('conflict', 'You already use an authenticator, or have begun to set up another one.')
    return { recovery_codes: codes }
  },
})
