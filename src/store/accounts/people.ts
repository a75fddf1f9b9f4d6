// The table of people: who can sign in, and with what. Passwords are stored as slow hashes, the secrets of codes encrypted.
import type { Selectable } from 'kysely'
import type { PersonAccount } from '../../core/accounts/person.ts'
import { normalizeEmail } from '../../core/users/email-address.ts'
import type { SqlTypes, Store } from '../store.ts'

interface PersonRow {
  number: number
  id: string
  /** As it was written. */
  email: string
  /** Normalised; unique. */
  email_key: string
  name: string
  /** A slow hash with its parameters (`actions/accounts/password-hash.ts`). */
  password: string
  /** The sealed secret of the codes; null without one. */
  totp: string | null
  /** 0 until a first code has shown that the person has the secret. */
  totp_confirmed: number
  /** The time step of the last code that was used: each code works once. */
  totp_step: number
  /** JSON: the hashes of the recovery codes that are left. */
  recovery_codes: string
  created_at: number
  updated_at: number
}

declare module '../tables.ts' {
  interface Tables {
    people: PersonRow
  }
}

/** A person with what a sign-in is compared with. */
export interface StoredPerson extends PersonAccount {
  readonly password: string
  readonly sealedTotp: string | null
  readonly totpStep: number
  readonly recoveryCodes: readonly string[]
}

export async function createPeople({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('people')
    .addColumn('number', integer, (column) => column.primaryKey())
    .addColumn('id', text, (column) => column.notNull().unique())
    .addColumn('email', text, (column) => column.notNull())
    .addColumn('email_key', text, (column) => column.notNull().unique())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('password', text, (column) => column.notNull())
    .addColumn('totp', text)
    .addColumn('totp_confirmed', integer, (column) => column.notNull())
    .addColumn('totp_step', integer, (column) => column.notNull())
    .addColumn('recovery_codes', text, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('updated_at', integer, (column) => column.notNull())
    .execute()
}

/** Locks all people and their roles against changes until this transaction ends. */
export async function lockPeople(store: Store): Promise<void> {
  await store.lock('people')
}

export async function findPersonByEmail({ query }: Store, email: string): Promise<StoredPerson | undefined> {
  const key = normalizeEmail(email)
  const row = await query.selectFrom('people').selectAll().where('email_key', '=', key).executeTakeFirst()
  return row && toPerson(row)
}

export async function findPersonById({ query }: Store, id: string): Promise<StoredPerson | undefined> {
  const row = await query.selectFrom('people').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toPerson(row)
}

export async function findPersonByNumber({ query }: Store, number: number): Promise<StoredPerson | undefined> {
  const row = await query.selectFrom('people').selectAll().where('number', '=', number).executeTakeFirst()
  return row && toPerson(row)
}

/** The person with an authenticator who is newest; undefined if nobody has one. */
export async function findSomeWithTotp({ query }: Store): Promise<StoredPerson | undefined> {
  const people = query.selectFrom('people').selectAll().where('totp', 'is not', null)
  const row = await people.orderBy('number', 'desc').executeTakeFirst()
  return row && toPerson(row)
}

/** All people, oldest first. `PEOPLE_MAX` limits them. */
export async function listEverybody({ query }: Store): Promise<StoredPerson[]> {
  return (await query.selectFrom('people').selectAll().orderBy('number').execute()).map(toPerson)
}

/** Those of them with these numbers. */
export async function listPeopleIn({ query }: Store, numbers: readonly number[]): Promise<StoredPerson[]> {
  if (numbers.length === 0) return []
  const people = query.selectFrom('people').selectAll().where('number', 'in', numbers)
  return (await people.orderBy('number').execute()).map(toPerson)
}

export async function countPeople({ query }: Store): Promise<number> {
  const { people } = await query
    .selectFrom('people')
    .select((select) => select.fn.countAll<number>().as('people'))
    .executeTakeFirstOrThrow()
  return people
}

export type NewPerson = Pick<PersonAccount, 'id' | 'email' | 'name' | 'createdAt'> & Pick<StoredPerson, 'password'>

/** Call it under `lockPeople`. Throws StoreError `unique` if the address is taken. */
export async function addPerson({ query }: Store, person: NewPerson): Promise<StoredPerson> {
  const last = await query
    .selectFrom('people')
    .select((select) => select.fn.max<number | null>('number').as('number'))
    .executeTakeFirstOrThrow()
  const row: PersonRow = {
    number: (last.number ?? 0) + 1,
    id: person.id,
    email: person.email.trim(),
    email_key: normalizeEmail(person.email),
    name: person.name.trim(),
    password: person.password,
    totp: null,
    totp_confirmed: 0,
    totp_step: 0,
    recovery_codes: '[]',
    created_at: person.createdAt,
    updated_at: person.createdAt,
  }
  await query.insertInto('people').values(row).execute()
  return toPerson(row)
}

/** Keeps a password as it is until this transaction ends. False if it was changed, or the person removed. */
export async function lockPassword(
  store: Store,
  { number, password }: Pick<StoredPerson, 'number' | 'password'>,
): Promise<boolean> {
  const own = store.query.selectFrom('people').select('number').where('number', '=', number)
  return (await store.lockRows(own.where('password', '=', password)).executeTakeFirst()) !== undefined
}

export async function savePassword({ query }: Store, number: number, password: string, now: number): Promise<void> {
  await query.updateTable('people').set({ password, updated_at: now }).where('number', '=', number).execute()
}

/** Stores a secret that is not used yet, in place of one that was not confirmed. Returns false if one is in use. */
export async function proposeTotp({ query }: Store, number: number, sealed: string): Promise<boolean> {
  const { numUpdatedRows } = await query
    .updateTable('people')
    .set({ totp: sealed })
    .where('number', '=', number)
    .where('totp_confirmed', '=', 0)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

export interface ConfirmedTotp {
  /** The time step of the code that confirmed it. */
  readonly step: number
  /** The hashes of the recovery codes. */
  readonly recoveryCodes: readonly string[]
}

/** From now on, signing in takes a code. Returns false if the secret was confirmed or replaced in the meantime. */
export async function saveConfirmedTotp(
  { query }: Store,
  { number, sealedTotp }: Pick<StoredPerson, 'number' | 'sealedTotp'>,
  { step, recoveryCodes }: ConfirmedTotp,
): Promise<boolean> {
  const { numUpdatedRows } = await query
    .updateTable('people')
    .set({ totp_confirmed: 1, totp_step: step, recovery_codes: JSON.stringify(recoveryCodes) })
    .where('number', '=', number)
    .where('totp', '=', sealedTotp)
    .where('totp_confirmed', '=', 0)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

export async function deleteTotp({ query }: Store, number: number): Promise<void> {
  const set = { totp: null, totp_confirmed: 0, recovery_codes: '[]' }
  await query.updateTable('people').set(set).where('number', '=', number).execute()
}

/** Marks a code as used. Returns false if it, or a later one, was used before. */
export async function takeTotpStep({ query }: Store, number: number, step: number): Promise<boolean> {
  const { numUpdatedRows } = await query
    .updateTable('people')
    .set({ totp_step: step })
    .where('number', '=', number)
    .where('totp_step', '<', step)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/** The caller has read the codes under `lockPeople`. */
export async function saveRecoveryCodes({ query }: Store, number: number, hashes: readonly string[]): Promise<void> {
  const set = { recovery_codes: JSON.stringify(hashes) }
  await query.updateTable('people').set(set).where('number', '=', number).execute()
}

/** The caller removes roles and sessions too. */
export async function deletePerson({ query }: Store, number: number): Promise<void> {
  await query.deleteFrom('people').where('number', '=', number).execute()
}

function toPerson(row: Selectable<PersonRow>): StoredPerson {
  return {
    number: row.number,
    id: row.id,
    email: row.email,
    name: row.name,
    hasTotp: row.totp !== null && row.totp_confirmed === 1,
    createdAt: row.created_at,
    password: row.password,
    sealedTotp: row.totp,
    totpStep: row.totp_step,
    recoveryCodes: JSON.parse(row.recovery_codes) as string[],
  }
}
