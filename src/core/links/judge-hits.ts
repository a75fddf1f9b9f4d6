// Judges hits of a message: whether a person, a machine or the picture proxy of a mail service made them ("Machines").
import { MACHINE_AGENTS, PROXY_AGENTS } from './machine-agents.ts'
import type { HitKind } from './link-entry.ts'

export const HIT_VERDICTS = ['person', 'machine', 'proxy'] as const
export type HitVerdict = (typeof HIT_VERDICTS)[number]

export interface RawHit {
  readonly id: number
  readonly kind: HitKind
  /** The number of the link; 0 for opens. */
  readonly link: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly ip: string
  readonly userAgent: string | null
  /** Whether the request itself shows that no person made it: HEAD, or a prefetch. */
  readonly isAutomatic: boolean
}

/** Clicks on this many links of one message … */
const BURST_LINKS = 3
/** … within this time come from a machine that follows every link. */
const BURST_MS = 2_000
/** Hits so soon after a burst come from the same machine. */
const AFTER_BURST_MS = 10_000
/** How long after a hit it can be judged: by then every burst is known that it may belong to. */
export const JUDGED_AFTER_MS = 10_000
/**
 * Opens so shortly before a burst come from the same machine, which fetches the picture first. An earlier open may be judged before
 * the last click that makes the burst, so none is tainted: a verdict does not depend on when it is given.
 */
const BEFORE_BURST_MS = JUDGED_AFTER_MS - BURST_MS

/** The clicks on which the judgement of a hit depends: those from `since` to `until`, both inclusive. */
export function contextOf({ at, kind }: Pick<RawHit, 'at' | 'kind'>): {
  readonly since: number
  readonly until: number
} {
  const aheadMs = kind === 'open' ? BEFORE_BURST_MS : 0
  return { since: at - BURST_MS - AFTER_BURST_MS, until: at + aheadMs + BURST_MS }
}

/** Judges a hit. Depends on nothing else, so every process and every repeat judges it alike. */
export function judgeHit(
  hit: RawHit,
  {
    bursts,
    isMachineAddress,
  }: {
    /** Those of its message, from all clicks within `contextOf`. */
    readonly bursts: readonly Burst[]
    /** Whether the operator lists the address as one of machines. */
    readonly isMachineAddress: (ip: string, kind: HitKind) => boolean
  },
): HitVerdict {
  if (hit.isAutomatic || isMachineAddress(hit.ip, hit.kind) || bursts.some((burst) => isTainted(hit, burst)))
    return 'machine'
  const agent = hit.userAgent?.trim() ?? ''
  if (hit.kind === 'open' && PROXY_AGENTS.some((pattern) => pattern.test(agent))) return 'proxy'
  return agent === '' || MACHINE_AGENTS.some((pattern) => pattern.test(agent)) ? 'machine' : 'person'
}

/** A period in which clicks on several links of one message came too fast for a person; both ends are the times of clicks. */
export interface Burst {
  readonly start: number
  readonly end: number
}

type Click = Pick<RawHit, 'at' | 'link'>

/** The bursts among clicks on one message, given in any order. Those that overlap are one. */
export function findBursts(clicks: readonly Click[]): Burst[] {
  const bursts: Burst[] = []
  const recent = new RecentClicks()
  for (const click of clicks.toSorted((left, right) => left.at - right.at)) {
    const start = recent.add(click)
    if (recent.links < BURST_LINKS) continue
    const last = bursts.at(-1)
    if (last && start <= last.end) bursts[bursts.length - 1] = { start: last.start, end: click.at }
    else bursts.push({ start, end: click.at })
  }
  return bursts
}

/** The clicks of the last `BURST_MS`. */
class RecentClicks {
  readonly #clicks: Click[] = []
  /** Link → its clicks. */
  readonly #counts = new Map<number, number>()
  #first = 0

  /** How many different links they are on. */
  get links(): number {
    return this.#counts.size
  }

  /** Returns the time of the earliest click that is still recent. */
  add(click: Click): number {
    this.#clicks.push(click)
    this.#count(click.link, 1)
    for (;;) {
      const { at, link } = this.#clicks[this.#first] as Click
      if (click.at - at <= BURST_MS) return at
      this.#count(link, -1)
      this.#first++
    }
  }

  #count(link: number, change: number): void {
    const count = (this.#counts.get(link) ?? 0) + change
    if (count > 0) this.#counts.set(link, count)
    else this.#counts.delete(link)
  }
}

/** A machine fetches the picture before, among or after the links. */
function isTainted({ at, kind }: RawHit, { start, end }: Burst): boolean {
  return at >= (kind === 'open' ? start - BEFORE_BURST_MS : start) && at <= end + AFTER_BURST_MS
}
