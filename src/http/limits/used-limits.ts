// Tells how much of each limit of a workspace is used in the window under way, without taking anything.
import { LIMIT_DEFAULTS, type LimitName, type Workspace } from '../../core/workspace.ts'
import type { UsedLimit } from '../../core/workspaces/used-limit.ts'
import type { UsedWindows } from '../../store/workspaces/limit-windows.ts'
import { isPerDay, isUnderWay, lengthMsOf, type LimitedOperation, type Limiter } from './limiter.ts'

const LIMIT_NAMES = Object.keys(LIMIT_DEFAULTS) as LimitName[]

/** All limits, in the order of `LIMIT_DEFAULTS`. Rejects if shared limits cannot be reached. */
export async function listUsedLimits(
  limiter: Pick<Limiter, 'listUsed'>,
  operations: readonly LimitedOperation[],
  { workspace, now }: { readonly workspace: Workspace; readonly now: number },
): Promise<UsedLimit[]> {
  const used = new Map((await limiter.listUsed(workspace.id)).map((windows) => [windows.operation, windows]))
  return LIMIT_NAMES.map((limit) => {
    const limited = operations.filter(({ limits }) => limits.includes(limit)).map(({ name }) => name)
    const most = mostUsed(limit, { limited, used, now })
    return { limit, units: workspace.limits[limit], window: isPerDay(limit) ? 'day' : 'minute', ...most }
  })
}

interface LimitedWindows {
  readonly limited: readonly string[]
  readonly used: ReadonlyMap<string, UsedWindows>
  readonly now: number
}

function mostUsed(limit: LimitName, { limited, used, now }: LimitedWindows) {
  const lengthMs = lengthMsOf(limit)
  const end = now - (now % lengthMs) + lengthMs
  let most: Pick<UsedLimit, 'operation' | 'used' | 'resetsAt'> = { operation: null, used: 0, resetsAt: end }
  for (const operation of limited) {
    const window = used.get(operation)?.[isPerDay(limit) ? 'day' : 'minute']
    if (!window || !isUnderWay(window, lengthMs, now) || window.used <= most.used) continue
    most = { operation, used: window.used, resetsAt: window.startsAt + lengthMs }
  }
  return most
}
