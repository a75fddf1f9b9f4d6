// Finds a caller for an operation, in tests that go through all operations.
import { tilesOf, type Requirement } from '../../../src/core/accounts/credential.ts'
import type { Database } from '../../../src/store/store.ts'
import { signInAs } from '../accounts/sign-in-as.ts'
import type { CallOptions } from '../server.ts'
import type { KeyTile } from '../../../src/core/accounts/key-tile.ts'
import { PERMISSIONS, type Permission } from '../../../src/core/accounts/permission.ts'

/** How to call an operation as somebody who may: with a key or, where none suffices, as an owner whose session began just now. */
export async function callerFor(
  server: { readonly database: Database },
  required: Requirement,
): Promise<Pick<CallOptions, 'tile' | 'person'>> {
  return needsPerson(required) ? { person: await signInAs(server, 'owner') } : { tile: tileFor(required) }
}

/** Whether only a person may use the operation. */
function needsPerson(required: Requirement): boolean {
  return required === 'session' || (isPermission(required) && tilesOf(required).length === 0)
}

/** The first tile whose key suffices; `data` if no key does, or none is needed. */
function tileFor(required: Requirement): KeyTile {
  return isPermission(required) ? (tilesOf(required)[0] ?? 'data') : 'data'
}

function isPermission(required: Requirement): required is Permission {
  return required in PERMISSIONS
}
