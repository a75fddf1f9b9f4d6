// What the operations of the server take and return, by method and address: types only, taken from the operations themselves. An
// operation that changes does not compile here until the dashboard follows.
import type { Static, TSchema } from 'typebox'
import type { OperationSchemas } from '../../src/operations/operation.ts'
import type { OPERATIONS } from '../../src/operations/operations.ts'

export type CallMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

type Known = (typeof OPERATIONS)[number]

/** Method → address → schemas, of the operations whose address the compiler knows. */
type Contracts = {
  [Method in CallMethod]: {
    [
      Operation in Extract<
        Known,
        { readonly method: Method; readonly schemas?: OperationSchemas }
      > as AddressIn<Operation>
    ]: NonNullable<Operation['schemas']>
  }
}

type AddressIn<Operation extends Known> = string extends Operation['url'] ? never : Operation['url']

/** All addresses of a method: `/v1/customer/:Workspace_ID/users`. */
export type Address<Method extends CallMethod> = keyof Contracts[Method] & string

type SchemasOf<Method extends CallMethod, Url extends Address<Method>> = Contracts[Method][Url]

/** What an operation returns as JSON, or in each line of a stream; undefined if it returns nothing. */
export type AnswerOf<Method extends CallMethod, Url extends Address<Method>> = ValueOf<SchemasOf<Method, Url>, 'output'>

type ValueOf<Schemas, Name extends keyof OperationSchemas> = Schemas extends { readonly [Key in Name]: infer Schema }
  ? Schema extends TSchema
    ? Static<Schema>
    : undefined
  : never

/** A member that must be given only if it has members that must be. */
type Member<Name extends string, Value> = object extends Value
  ? { readonly [Key in Name]?: Value }
  : { readonly [Key in Name]: Value }

/** What a call of the operation must give: the fields of its path and query, and its body. */
export type AskedOf<Method extends CallMethod, Url extends Address<Method>> = InputOf<SchemasOf<Method, Url>> &
  CallOptions

/** The workspace in a path comes from the address of the page. */
type InputOf<Schemas> = Member<'path', Omit<ValueOf<Schemas, 'path'>, 'Workspace_ID'>> &
  Member<'query', ValueOf<Schemas, 'query'>> &
  (ValueOf<Schemas, 'body'> extends undefined
    ? { readonly body?: undefined }
    : { readonly body: ValueOf<Schemas, 'body'> })

/** What every call may give. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** The workspace that it is about, if that is not the one in the address of the page. */
  readonly workspace?: string | undefined
  /** For the header Idempotency-Key: a repeated call with the same key takes effect once. */
  readonly idempotencyKey?: string | undefined
  /** The media type to ask for instead of JSON. */
  readonly accept?: string | undefined
  /** False for what a person does before they are signed in: 401 is an error then, and does not ask them to sign in again. */
  readonly asksToSignIn?: boolean | undefined
}

/** The arguments after the address: none are needed if nothing must be given. */
export type Asked<Method extends CallMethod, Url extends Address<Method>> =
  object extends AskedOf<Method, Url> ? [asked?: AskedOf<Method, Url>] : [asked: AskedOf<Method, Url>]
