// When a server that fails is left alone, and how it is tried again.
import { describe, expect, it } from 'vitest'
import {
  admitTo,
  circuitAfterFailure,
  circuitAfterNoProbe,
  CLOSED_CIRCUIT,
  type Circuit,
} from '../../../src/delivery/smtp/circuit.ts'

const SECOND_MS = 1_000
const open: Circuit = { state: 'open', since: 0, until: 15 * SECOND_MS, waitMs: 15 * SECOND_MS }
const probing: Circuit = { state: 'probing', since: 0, waitMs: 15 * SECOND_MS }

describe('a circuit', () => {
  it('opens for 15 s at the fifth failure in a row', () => {
    let circuit = CLOSED_CIRCUIT
    for (let failure = 1; failure < 5; failure++) {
      circuit = circuitAfterFailure(circuit, 0)
      expect(admitTo(circuit, 0).isAdmitted).toBe(true)
    }
    expect(circuitAfterFailure(circuit, 0)).toEqual(open)
  })

  it.each([
    ['closed', CLOSED_CIRCUIT, 0, true, CLOSED_CIRCUIT],
    ['open before its time', open, 15 * SECOND_MS - 1, false, open],
    ['open when its time has come', open, 15 * SECOND_MS, true, probing],
    ['probing', probing, 3_600 * SECOND_MS, false, probing],
  ] as const)('%s: admits as the table says', (_name, circuit, now, isAdmitted, after) => {
    expect(admitTo(circuit, now)).toEqual({ isAdmitted, circuit: after })
  })

  it('doubles its wait with each probe that fails, to 5 minutes', () => {
    let circuit: Circuit = open
    let now = 0
    const waits: number[] = []
    while (waits.length < 7 && circuit.state === 'open') {
      waits.push((circuit.until - now) / SECOND_MS)
      now = circuit.until
      circuit = circuitAfterFailure(admitTo(circuit, now).circuit, now)
    }
    expect(waits).toEqual([15, 30, 60, 120, 240, 300, 300])
  })

  it('is not changed by failures of messages that began before it opened', () => {
    expect(circuitAfterFailure(open, 10 * SECOND_MS)).toEqual(open)
  })

  it('lets the next message probe if the probe asked nobody', () => {
    const after = circuitAfterNoProbe(probing, 20 * SECOND_MS)
    expect(admitTo(after, 20 * SECOND_MS)).toEqual({ isAdmitted: true, circuit: probing })
    expect(circuitAfterNoProbe(open, 0)).toBe(open)
  })
})
