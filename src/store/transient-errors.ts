// Tells transient errors of the database from errors that the written data causes.
import { AppError } from '../core/app-error.ts'
import { TablesAreNewer } from './migrations.ts'
import { TransactionTimedOut, StoreError } from './store.ts'

/**
 * Whether an error is about the database and not about the entries. `TransactionTimedOut` may be about the entries, and would then
 * never pass: a smaller batch computes for a shorter time.
 */
export function isTransient(error: unknown): boolean {
  if (error instanceof TransactionTimedOut) return false
  if (error instanceof TablesAreNewer) return true
  if (error instanceof AppError) return error.code === 'unavailable'
  return error instanceof StoreError && (error.reason === 'busy' || error.reason === 'broken')
}
