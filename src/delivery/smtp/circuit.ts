// Whether a sender's server is asked at all. After failures that belong to the server, it is left alone for a while, then one message
// tries whether it takes mail again ("Failures belong to somebody"). Pure: the caller passes the clock, in milliseconds.
//
// | state   | event                         | next                                                              |
// |---------|-------------------------------|-------------------------------------------------------------------|
// | closed  | success                       | closed, no failures                                               |
// | closed  | failure, the first to fourth  | closed, one failure more                                          |
// | closed  | failure, the fifth in a row   | open for 15 s                                                     |
// | open    | failure                       | open as it was: a message that began before has failed            |
// | open    | success                       | closed: a message that began before was taken                     |
// | open    | admission before its time     | open; nothing begins                                              |
// | open    | admission when it has come    | probing; that message begins                                      |
// | probing | admission                     | probing; nothing else begins                                      |
// | probing | success                       | closed                                                            |
// | probing | failure                       | open for twice as long as before, at most 5 min                   |
// | probing | the probe asked nobody        | open, its time has come: the next message is the probe            |

const FAILURES_TO_OPEN = 5
const FIRST_WAIT_MS = 15_000
const LONGEST_WAIT_MS = 5 * 60_000

export type Circuit =
  | { readonly state: 'closed'; readonly failures: number }
  | { readonly state: 'open'; readonly since: number; readonly until: number; readonly waitMs: number }
  | { readonly state: 'probing'; readonly since: number; readonly waitMs: number }

export const CLOSED_CIRCUIT: Circuit = { state: 'closed', failures: 0 }

/** Whether a message may begin, and the circuit after the answer. */
export function admitTo(circuit: Circuit, now: number): { readonly circuit: Circuit; readonly isAdmitted: boolean } {
  if (circuit.state === 'closed') return { circuit, isAdmitted: true }
  if (circuit.state === 'probing' || now < circuit.until) return { circuit, isAdmitted: false }
  const { since, waitMs } = circuit
  return { circuit: { state: 'probing', since, waitMs }, isAdmitted: true }
}

/** The server failed. Refusals of a message or a recipient are successes here: the server answers. */
export function circuitAfterFailure(circuit: Circuit, now: number): Circuit {
  switch (circuit.state) {
    case 'closed': {
      const failures = circuit.failures + 1
      if (failures < FAILURES_TO_OPEN) return { state: 'closed', failures }
      return { state: 'open', since: now, until: now + FIRST_WAIT_MS, waitMs: FIRST_WAIT_MS }
    }
    case 'open':
      return circuit
    case 'probing': {
      const waitMs = Math.min(circuit.waitMs * 2, LONGEST_WAIT_MS)
      return { state: 'open', since: circuit.since, until: now + waitMs, waitMs }
    }
  }
}

/** The probe ended without asking the server, because the message was removed or the run paused. */
export function circuitAfterNoProbe(circuit: Circuit, now: number): Circuit {
  if (circuit.state !== 'probing') return circuit
  return { state: 'open', since: circuit.since, until: now, waitMs: circuit.waitMs }
}
