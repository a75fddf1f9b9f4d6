// Field schemas that operations share. They accept only text that every database can store.
import { Type, type TObject, type TProperties, type TSchema } from 'typebox'
import { EXPONENT_MAX, NUMBER_LENGTH_MAX } from '../core/json/exact-number.ts'
import { USER_ID_LENGTH_MAX } from '../core/users/user.ts'
import { WarningsOutput } from './warnings.ts'

/** An id, name or word of `min` to `max` code points, without characters that nobody sees (`hiddenProblem`). */
export function Text(min: number, max: number, description?: string) {
  return Type.String({ minLength: min, maxLength: max, format: 'text', ...(description && { description }) })
}

/** Content of `min` to `max` code points: all characters that every database can store. */
export function Content(min: number, max: number, description?: string) {
  return Type.String({ minLength: min, maxLength: max, format: 'content', ...(description && { description }) })
}

/** The same, or null, which counts as not sent: many clients send null for values they do not have. */
export function NullableText(min: number, max: number, description: string) {
  return Type.Unsafe<string | null>({
    type: ['string', 'null'],
    minLength: min,
    maxLength: max,
    format: 'text',
    description,
  })
}

/** An object that refuses unknown members: otherwise a mistyped filter or consent key would be ignored silently. */
export function Strict<Properties extends TProperties>(properties: Properties): TObject<Properties> {
  return Type.Object(properties, { additionalProperties: false })
}

/** One of a closed list of words. */
export function OneOf<Word extends string>(words: readonly Word[], description?: string) {
  return Type.Unsafe<Word>({ type: 'string', enum: [...words], ...(description && { description }) })
}

/** A value or null, in responses. */
export function Nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}

export const NoFields = Strict({})

export const WorkspacePath = Strict({
  Workspace_ID: Text(1, 64, 'The workspace id. Must equal the username in the Authorization header.'),
})

export const CustomerId = Text(1, USER_ID_LENGTH_MAX, 'Identifies the user.')

/** For operations that also identify users by configured identifiers. Null counts as not sent. */
export const TrackedCustomerId = NullableText(
  1,
  USER_ID_LENGTH_MAX,
  'Identifies the user. Required unless identity resolution is on and `user_identifiers` identifies the user.',
)

/** For descriptions of attributes. */
export const ATTRIBUTE_NUMBERS =
  'Numbers are never rounded. One that 64-bit floating point cannot hold may have up to ' +
  `${NUMBER_LENGTH_MAX} characters and an exponent from -${EXPONENT_MAX} to ${EXPONENT_MAX}. Many JSON parsers round such ` +
  'numbers when they read them.'

/** A time in responses: ISO 8601 in UTC with milliseconds. */
export const IsoTime = Type.String({ format: 'date-time' })

/** The response of operations that append to the log. */
export const AcceptedOutput = Type.Object({
  status: Type.Literal('success'),
  message: Type.String(),
  request_id: Type.String({
    description: 'Query its status with `GET /v1/event/{Workspace_ID}/requests/{request_id}`.',
  }),
  warnings: WarningsOutput,
})
