// How a mail sink answers, by the local part of an address. At MAIL FROM the sender's address decides, at the other stages the
// recipient's:
//
// | local part                    | the sink                                                                                      |
// |-------------------------------|-----------------------------------------------------------------------------------------------|
// | `reject-550-5.1.1`            | refuses MAIL FROM or RCPT TO with that reply; `defer-450-4.2.1` is the same                    |
// | `defer-once-450-4.2.1`        | refuses the first RCPT TO of this address, then takes it                                       |
// | `reject-data-554-5.7.1`       | takes the whole message, then refuses it with that reply                                       |
// | `drop-at-mail`, `-rcpt`, `-data` | ends the connection in place of the reply to the command                                   |
// | `drop-in-data`                | ends it when content arrives, before the final dot                                             |
// | `drop-before-reply`           | ends it after the final dot; the message is not recorded                                       |
// | `drop-after-data`             | ends it after the final dot, in place of the reply; the message is recorded as accepted        |
// | `hang-after-data`             | records the message and never replies                                                          |
// | `slow-250`                    | replies to the message after 250 ms                                                            |
//
// The enhanced code may be left out (`reject-550`). A part after `+` is free: `reject-550-5.1.1+person7`.

/**
 * `data`: the command has arrived, the sink is about to reply 354. `content`: the first of the message has arrived. `message`: all of
 * it has, and the sink is about to record it. `recorded`: it has. A reply cannot be given at `data` and `content`.
 */
export type SinkStage = 'connect' | 'auth' | 'mail' | 'rcpt' | 'data' | 'content' | 'message' | 'recorded'

export interface SinkMoment {
  readonly stage: SinkStage
  /** The number of the connection, from 1. */
  readonly connection: number
  /** Undefined before MAIL FROM. */
  readonly from?: string
  /** Undefined before RCPT TO. */
  readonly to?: string
}

/** What the sink does in place of taking what it was sent. */
export interface SinkAnswer {
  /** First waits. */
  readonly afterMs?: number
  /** Such as `550 5.1.1 No such user`; after 421 the connection ends. */
  readonly reply?: string
  /** `hang`: the sink never replies. */
  readonly ends?: 'drop' | 'hang'
}

/** Undefined: the sink takes what it was sent. */
export type SinkRule = (moment: SinkMoment) => SinkAnswer | undefined

/** How many addresses a rule remembers, for `defer-once`. */
const REMEMBERED_MAX = 1_000_000

const REFUSAL = /^(?:reject|defer)-(?<when>data-|once-)?(?<code>\d{3})(?:-(?<enhanced>[\d.]+))?$/
const DROPS: Readonly<Record<string, SinkStage>> = {
  'drop-at-mail': 'mail',
  'drop-at-rcpt': 'rcpt',
  'drop-at-data': 'data',
  'drop-in-data': 'content',
  'drop-before-reply': 'message',
  'drop-after-data': 'recorded',
}

/** The rule of the table above. */
export function createAddressRule(): SinkRule {
  const deferred = new Set<string>()
  return ({ stage, from, to }) => {
    const address = stage === 'mail' ? from : to
    const local = address?.split('@')[0]?.split('+')[0]
    if (local === undefined || !local.includes('-')) return undefined
    if (DROPS[local]) return DROPS[local] === stage ? { ends: 'drop' } : undefined
    if (local === 'hang-after-data') return stage === 'recorded' ? { ends: 'hang' } : undefined
    const slow = /^slow-(\d{1,6})$/.exec(local)?.[1]
    if (slow !== undefined) return stage === 'message' ? { afterMs: Number(slow) } : undefined
    return refusalOf(local, stage, () => isFirst(deferred, String(address)))
  }
}

function refusalOf(local: string, stage: SinkStage, isFirstTime: () => boolean): SinkAnswer | undefined {
  const { when, code, enhanced } = REFUSAL.exec(local)?.groups ?? {}
  if (code === undefined) return undefined
  const isDue = when === 'data-' ? stage === 'message' : stage === 'mail' || stage === 'rcpt'
  if (!isDue || (when === 'once-' && !isFirstTime())) return undefined
  return { reply: [code, enhanced, 'refused by the sink'].filter(Boolean).join(' ') }
}

function isFirst(seen: Set<string>, address: string): boolean {
  if (seen.has(address)) return false
  if (seen.size >= REMEMBERED_MAX) throw new Error(`a sink remembers at most ${REMEMBERED_MAX} addresses`)
  seen.add(address)
  return true
}
