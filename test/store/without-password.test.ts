// Checks that addresses of databases are shown without their passwords.
import { expect, it } from 'vitest'
import { withoutPassword } from '../../src/store/postgres/without-password.ts'

it.each([
  ['postgres://me:secret@db:5432/tidings', 'postgres://me@db:5432/tidings'],
  ['postgres://me@db/tidings?password=secret', 'postgres://me@db/tidings'],
  ['postgres://me:secret@db/tidings?sslmode=require&password=secret', 'postgres://me@db/tidings'],
  ['postgresql:///tidings?host=/run/postgresql&password=secret', 'postgresql:///tidings'],
])('the password is removed from %s', (databaseUrl, shown) => {
  expect(withoutPassword(databaseUrl)).toBe(shown)
})
