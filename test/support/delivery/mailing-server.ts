// What tests of sent campaigns share: a server that sends, a mail sink, and a workspace for each test.
import { afterAll, beforeAll, expect } from 'vitest'
import type { WorkspaceSettings } from '../../../src/core/workspace.ts'
import { startMailSink, type MailSink, type MailSinkOptions } from '../mail-sink/mail-sink.ts'
import { LIMITS_OF_TESTS, startServer, until, type TestServer, type TestWorkspace } from '../server.ts'
import type { StoreKind } from '../stores.ts'
import {
  addMailing,
  addPeople,
  changeMailing,
  readMessages,
  readRun,
  untilFinished,
  type Mailing,
  type MailingServer,
  type ShownMessage,
  type ShownRun,
} from './mailing.ts'

type Person = Parameters<typeof addPeople>[1][number]
type Settings = Partial<WorkspaceSettings>

/** A workspace of a server that sends. */
export interface MailingWorkspace extends MailingServer {
  readonly server: TestServer
  change(settings: Settings): Promise<void>
}

export interface MailingBench {
  server: TestServer
  sink: MailSink
  /** A new workspace. */
  makeWorkspace(settings?: Settings): Promise<MailingWorkspace>
}

/** Starts a server and a sink before the tests of a suite, and stops them afterwards. */
export function useMailingBench(kind: StoreKind, options: MailSinkOptions = {}): MailingBench {
  const bench = {
    async makeWorkspace(settings: Settings = {}) {
      const all = { limits: LIMITS_OF_TESTS, ...settings }
      return inWorkspace(bench.server, await bench.server.makeWorkspace(all), all)
    },
  } as MailingBench
  beforeAll(async () => {
    bench.sink = await startMailSink(options)
    bench.server = await startServer(kind, {
      PUBLIC_URL: 'http://127.0.0.1:8080',
      SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    })
  })
  afterAll(async () => {
    await bench.server.stop()
    await bench.sink.stop()
  })
  return bench
}

function inWorkspace(server: TestServer, workspace: TestWorkspace, settings: Settings): MailingWorkspace {
  return {
    server,
    workspace,
    call: (method, path, options) => server.call(method, path, { as: workspace, ...options }),
    change: (changes) => server.changeSettings(workspace, { ...settings, ...changes }),
  }
}

/** People with addresses of this domain: `0@…`, `1@…` and so on. */
export function peopleOf(count: number, domain: string, more: Readonly<Record<string, unknown>> = {}): Person[] {
  return Array.from({ length: count }, (_, index) => ({
    customer_id: `p${String(index).padStart(4, '0')}`,
    email: `${index}@${domain}`,
    ...more,
  }))
}

/** Starts a campaign to everybody; its id. */
export async function startMailing(server: MailingServer, sink: MailSink, mailing: Mailing = {}): Promise<string> {
  const campaign = await addMailing(server, sink, mailing)
  await changeMailing(server, campaign, 'start')
  return campaign
}

export interface FinishedMailing {
  readonly campaign: string
  readonly run: ShownRun
  /** By customer id. */
  readonly messages: ReadonlyMap<string, ShownMessage>
}

/** Sends a campaign to everybody, until its run is over. */
export async function sendMailing(server: MailingServer, sink: MailSink, mailing?: Mailing): Promise<FinishedMailing> {
  const campaign = await startMailing(server, sink, mailing)
  return finishMailing(server, campaign)
}

/** Waits until a run is over, and checks that its states add up. */
export async function finishMailing(server: MailingServer, campaign: string): Promise<FinishedMailing> {
  const run = await untilFinished(server, campaign)
  expectAddedUp(run)
  return { campaign, run, messages: await messagesOf(server, campaign) }
}

export async function messagesOf(server: MailingServer, campaign: string): Promise<Map<string, ShownMessage>> {
  return new Map((await readMessages(server, campaign)).map((message) => [message.customer_id, message]))
}

/** Waits for a run of which this holds; its states always add up to the audience. */
export function untilRun(
  server: MailingServer,
  campaign: string,
  what: string,
  holds: (run: ShownRun) => boolean,
): Promise<ShownRun> {
  return until(what, async () => {
    const run = await readRun(server, campaign)
    if (run) expectAddedUp(run)
    return run && holds(run) ? run : undefined
  })
}

function expectAddedUp({ audience, states }: ShownRun): void {
  expect(Object.values(states).reduce((sum, count) => sum + count, 0)).toBe(audience)
}

/** Customer id → reason, of those who have one. */
export function reasonsIn(messages: ReadonlyMap<string, ShownMessage>): Record<string, string> {
  return Object.fromEntries([...messages].flatMap(([id, { reason }]) => (reason === null ? [] : [[id, reason]])))
}

/** Who the sink has mail for in this domain, in order; the same address as often as it got mail. */
export function recipientsIn(sink: MailSink, domain: string): string[] {
  const all = sink.mails.list().flatMap(({ to }) => to)
  return all.filter((address) => address.endsWith(`@${domain}`)).toSorted()
}
