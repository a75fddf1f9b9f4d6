// What tests of the people of a workspace do again and again: list, invite, change and remove them.
import { expect } from 'vitest'
import type { Role } from '../../../src/core/accounts/role.ts'
import type { ErrorBody } from '../../../src/http/answers/error-answer.ts'
import type { Answer, TestServer } from '../server.ts'
import type { PeopleBody } from './account-calls.ts'

export interface MadeLinkBody extends ErrorBody {
  readonly path: string
  readonly expires_at: string
}

interface Cookie {
  readonly cookie: string
}

export interface PeopleCalls {
  list(): Promise<PeopleBody>
  invite(email: string, role?: Role): Promise<Answer<MadeLinkBody>>
  /** The same, which must succeed: the token of the link. */
  invited(email: string, role?: Role): Promise<string>
  removeInvitation(email: string): Promise<Answer<ErrorBody>>
  changeRole(personId: string, role: Role): Promise<Answer<ErrorBody>>
  remove(personId: string): Promise<Answer<ErrorBody>>
  resetPassword(personId: string): Promise<Answer<MadeLinkBody>>
}

/** The calls of somebody in a workspace. */
export function peopleCalls({ call }: Pick<TestServer, 'call'>, person: Cookie, workspaceId = 'main'): PeopleCalls {
  const people = `/v1/workspaces/${workspaceId}/people`
  const send = <Body = ErrorBody>(method: string, path: string, body?: unknown) =>
    call<Body>(method, path, { as: null, person, ...(body !== undefined && { body }) })
  const invite = (email: string, role: Role = 'marketer') => send<MadeLinkBody>('POST', people, { email, role })
  return {
    list: async () => (await send<PeopleBody>('GET', people)).body,
    invite,
    async invited(email, role) {
      const { status, body } = await invite(email, role)
      expect(status).toBe(201)
      return body.path.split('#')[1] ?? ''
    },
    removeInvitation: (email) =>
      send('DELETE', `/v1/workspaces/${workspaceId}/invitations/${encodeURIComponent(email)}`),
    changeRole: (personId, role) => send('PATCH', `${people}/${personId}`, { role }),
    remove: (personId) => send('DELETE', `${people}/${personId}`),
    resetPassword: (personId) => send<MadeLinkBody>('POST', `${people}/${personId}/reset`),
  }
}
