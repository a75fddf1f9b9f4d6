// Takes what a request uses from the limits of its caller: those of the workspace for a key, and one of its own for the session of a
// person, or for an address without a credential.
import { invalidRequest, type AppError } from '../../core/app-error.ts'
import { isOutsideWorkspaces } from '../../core/accounts/credential.ts'
import type { Operation } from '../../operations/operation.ts'
import type { Caller } from '../authentication.ts'
import type { RequestContext } from '../request-context.ts'
import type { CallerLimits } from './caller-limits.ts'
import { NeverPasses, type Limiter, type LimitState } from './limiter.ts'

export interface LimitParts {
  readonly rateLimits: Limiter
  readonly callerLimits: CallerLimits
  readonly parts: { readonly clock: () => number }
}

/** Rejects when the units cannot be taken. */
export async function takeLimit(
  context: RequestContext,
  operation: Operation,
  units: number,
  { rateLimits, callerLimits, parts }: LimitParts,
): Promise<void> {
  const { workspace } = context.caller as Caller
  const now = parts.clock()
  const own = ownLimitOf(context, operation, callerLimits)
  const taken = own ? own.limit.take(own.caller, now) : rateLimits.take({ workspace, operation, units, now })
  const { state, refusal } = await taken
  setLimitHeaders(context, state)
  if (refusal) throw refusal instanceof NeverPasses ? tooManyUnits(operation, units, refusal) : refusal
}

/** Counts a request that is refused for another reason than the limit, and says so in its headers. */
export async function countRefused(
  context: RequestContext,
  operation: Operation,
  { rateLimits, callerLimits, parts }: LimitParts,
): Promise<void> {
  const { workspace } = context.caller as Caller
  const now = parts.clock()
  const own = ownLimitOf(context, operation, callerLimits)
  const counted = own ? own.limit.take(own.caller, now).state : rateLimits.count({ workspace, operation, now })
  setLimitHeaders(context, await counted)
}

/** The limit of a caller who is no API client; undefined for one, whose limits are those of the workspace. */
function ownLimitOf(context: RequestContext, { requires }: Operation, { sessions, addresses }: CallerLimits) {
  const { credential } = context.caller as Caller
  if (credential.kind === 'person') return { caller: credential.sessionId, limit: sessions }
  return isOutsideWorkspaces(requires) ? { caller: context.callerAddress(), limit: addresses } : undefined
}

function tooManyUnits({ limitUnits }: Operation, units: number, { limitName, limit }: NeverPasses): AppError {
  const problem = `needs ${units} units of limits.${limitName}, and a whole window holds ${limit}: send smaller requests`
  return invalidRequest([{ field: limitUnits?.field ?? 'body', problem }])
}

function setLimitHeaders(context: RequestContext, state: LimitState): void {
  context.setHeader('x-ratelimit-limit', state.limit)
  context.setHeader('x-ratelimit-remaining', state.remaining)
  context.setHeader('x-ratelimit-reset', state.reset)
}
