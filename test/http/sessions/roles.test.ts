// Every operation, called with each role and with each key: it is refused with 403 exactly where `core/accounts/permission.ts` says so.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isKeyless, isOutsideWorkspaces, rolesOf, tilesOf } from '../../../src/core/accounts/credential.ts'
import { KEY_TILES } from '../../../src/core/accounts/key-tile.ts'
import type { Permission } from '../../../src/core/accounts/permission.ts'
import { ROLES, type Role } from '../../../src/core/accounts/role.ts'
import type { ErrorBody } from '../../../src/http/answers/error-answer.ts'
import type { Operation } from '../../../src/operations/operation.ts'
import { OPERATIONS } from '../../../src/operations/operations.ts'
import { signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import { expectRefusal, startServer, type CallOptions, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const FORBIDDEN = 403

describeEachStore('Every operation, with each role and each key', (kind) => {
  let server: TestServer
  const people = new Map<Role, SignedInPerson>()

  beforeAll(async () => {
    server = await startServer(kind)
    for (const role of ROLES) people.set(role, await signInAs(server, role, 'main'))
  })
  afterAll(() => server.stop())

  /** Changes nothing: what it names does not exist, and its body is empty. */
  const send = ({ method, url, body }: Operation, options: CallOptions) => {
    const path = url.replaceAll(':Workspace_ID', 'main').replaceAll(/:\w+/g, 'unknown')
    return server.call<Partial<ErrorBody>>(method, path, { ...(body && { body: {} }), ...options })
  }
  /** Refusals for another reason are no refusals of the caller. */
  const isLetThrough = async (operation: Operation, options: CallOptions) => {
    const { status } = await send(operation, options)
    expect(status).not.toBe(401)
    expect(status).toBeLessThan(500)
    return status !== FORBIDDEN
  }

  const inWorkspaces = OPERATIONS.filter(({ requires }) => !isOutsideWorkspaces(requires) && !isKeyless(requires))
  it.each(inWorkspaces)('$name is for those who have $requires', async (operation) => {
    const permission = operation.requires as Permission
    for (const role of ROLES) {
      const isLet = await isLetThrough(operation, { person: people.get(role) })
      expect([role, isLet]).toEqual([role, rolesOf(permission).includes(role)])
    }
    for (const tile of KEY_TILES) {
      const isLet = await isLetThrough(operation, { tile })
      expect([tile, isLet]).toEqual([tile, tilesOf(permission).includes(tile)])
    }
  })

  it.each(inWorkspaces)('$name is for nobody with a role in another workspace alone', async (operation) => {
    const { id } = await server.makeWorkspace()
    expectRefusal(await send(operation, { person: await signInAs(server, 'owner', id) }), 403, 'forbidden')
  })

  it.each(inWorkspaces)('$name is for nobody without key and session', async (operation) => {
    expectRefusal(await send(operation, { as: null }), 401, 'unauthorized')
  })

  const ofPeople = OPERATIONS.filter(({ requires }) => requires === 'session')
  it.each(ofPeople)('$name is for everybody who signed in, and for no key', async (operation) => {
    for (const role of ROLES) expect(await isLetThrough(operation, { person: await signInAs(server, role) })).toBe(true)
    for (const tile of KEY_TILES) expectRefusal(await send(operation, { tile }), 401, 'unauthorized')
    expectRefusal(await send(operation, { as: null }), 401, 'unauthorized')
  })

  const ofEverybody = OPERATIONS.filter(({ requires, body }) => requires === 'nothing' && body !== null)
  it.each(ofEverybody)('$name is for everybody', async (operation) => {
    expectRefusal(await send(operation, { as: null }), 400, 'invalid_request', requiredOf(operation))
  })
})

function requiredOf({ body }: Pick<Operation, 'body'>): string[] {
  return (body as { readonly required?: string[] }).required ?? []
}
