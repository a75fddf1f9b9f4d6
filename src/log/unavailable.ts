// What a log says when it does not take or give entries now, and may do so soon.
import { AppError } from '../core/app-error.ts'

const RETRY_AFTER_SECONDS = 1

export function unavailable(message: string): AppError {
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
