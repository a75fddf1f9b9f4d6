// Kills a server at random moments while it sends a campaign with coupons. Afterwards nobody was sent to twice, nobody is left out, and
// every number agrees. CRASH_SEED repeats a run; CRASH_KILLS=300 kills longer.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  expectAccounted,
  expectCounted,
  expectVerified,
  lookAtRun,
  numberedPeople,
  type Accounts,
} from '../../support/delivery/mailing-accounts.ts'
import { makeMailingProcesses, type MailingProcesses } from '../../support/delivery/mailing-processes.ts'
import { addMailing, addPeople, addSender, changeMailing, untilFinished } from '../../support/delivery/mailing.ts'
import { startMailSink, type MailSink } from '../../support/mail-sink/mail-sink.ts'
import { headerOf, readMail } from '../../support/mail-sink/read-mail.ts'
import { seededRandom } from '../../support/seeded-random.ts'
import { until } from '../../support/server.ts'

const KILLS = Number(process.env['CRASH_KILLS'] ?? 30)
const CONNECTIONS = 4
/** Slow enough that people are left at the last kill. */
const PER_SECOND = 60
/** Of a life after its first message: most are short, because more happens at their beginning. */
const ALIVE_MS = [30, 1_500] as const
const PEOPLE = 500 + KILLS * 60
const REPORTS = { tile: 'reports' } as const

describe('a server that is killed while it sends', () => {
  const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000)
  const random = seededRandom(seed)
  let processes: MailingProcesses
  let sink: MailSink

  beforeAll(async () => {
    process.stderr.write(`crash test of delivery: CRASH_SEED=${seed}\n`)
    // Replies take a moment, so that kills find messages between their end and the reply.
    const rule = () => ({ afterMs: random() * 8 })
    sink = await startMailSink({ keptMax: PEOPLE, rule })
    processes = await makeMailingProcesses('sqlite')
  })
  afterAll(async () => {
    await processes.remove()
    await sink.stop()
  })

  it('sends to everybody once, and leaves nobody out', { timeout: 120_000 + KILLS * 20_000 }, async () => {
    const first = await processes.start()
    const { call } = processes
    await addPeople(processes, numberedPeople(PEOPLE))
    const list = await addCoupons(processes)
    const limits = { per_second: PER_SECOND, connections: CONNECTIONS, messages_per_connection: 40 }
    const sender = await addSender(processes, sink, { limits })
    const template = {
      subject: 'Your code {{ Coupons.CouponListName[spring] }}',
      email_content: '<p>Hello {{ first_name }}, use =={{ Coupons.CouponListName[spring] }}==</p>',
    }
    const campaign = await addMailing(processes, sink, { template, delivery: { sender_id: sender } })
    await changeMailing(processes, campaign, 'start')
    for (let server = first, kill = 0; kill < KILLS; kill++) {
      const before = sink.mails.count
      await until('it sends', () => sink.mails.count > before)
      await new Promise((resolve) => setTimeout(resolve, ALIVE_MS[0] + random() ** 2 * (ALIVE_MS[1] - ALIVE_MS[0])))
      await lookAtRun(processes, campaign, PEOPLE)
      expectKept(await readCoupons(processes, list))
      expect(await server.stop('SIGKILL')).toMatchObject({ status: null })
      server = await processes.start()
    }
    const path = `/core-services/v1/senders/${sender}`
    await call('PATCH', path, { ...REPORTS, body: { limits: { ...limits, per_second: 10_000 } } })
    await untilFinished(processes, campaign)
    const accounts = await expectAccounted(processes, campaign, { sink, people: PEOPLE })
    expect(accounts.inDoubt).toBeLessThanOrEqual(CONNECTIONS * KILLS)
    await expectCounted(processes, campaign, { attempted: accounts.sent + accounts.inDoubt, sent: accounts.sent })
    expectCoupons(await readCoupons(processes, list), accounts, sink)
    await expectVerified(processes.environment)
  })
})

interface Coupons {
  readonly total_coupons: number
  readonly available_coupons: number
  readonly held_coupons: number
  readonly issued_coupons: number
}

async function addCoupons({ call }: MailingProcesses): Promise<string> {
  const body = { name: 'Spring', label: 'spring', expires_at: '2199-12-31', created_by: 'anna' }
  const made = await call<{ _id: string }>('POST', '/v1/coupon-list', { ...REPORTS, body })
  const { _id: id } = made.body
  const csv = Array.from({ length: PEOPLE }, (_, index) => `CODE-${index}\n`).join('')
  const headers = { 'content-type': 'text/csv' }
  const added = await call('POST', `/v1/coupon-list/${id}/coupons`, { ...REPORTS, body: csv, headers })
  expect({ made: made.status, added: added.status }).toEqual({ made: 201, added: 200 })
  return id
}

async function readCoupons({ call }: MailingProcesses, id: string): Promise<Coupons> {
  return (await call<Coupons>('GET', `/v1/coupon-list/${id}`, REPORTS)).body
}

function expectKept({ total_coupons, available_coupons, held_coupons, issued_coupons }: Coupons): void {
  expect(total_coupons).toBe(PEOPLE)
  expect(available_coupons + held_coupons + issued_coupons).toBe(PEOPLE)
}

/** Each code is in one mail, in its subject and its body; codes are issued with what was sent and what may have been. */
function expectCoupons(coupons: Coupons, { sent, inDoubt }: Accounts, sink: MailSink): void {
  expectKept(coupons)
  expect(coupons).toMatchObject({ held_coupons: 0, issued_coupons: sent + inDoubt })
  const codes = sink.mails.list().map(({ raw }) => {
    const mail = readMail(raw)
    const [, inBody] = /==(CODE-\d+)==/.exec(mail.html ?? '') ?? []
    expect(headerOf(mail, 'subject')).toBe(`Your code ${inBody}`)
    return inBody
  })
  expect(new Set(codes).size).toBe(codes.length)
}
