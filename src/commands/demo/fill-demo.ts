// Fills the workspace of the demo with what a shop has after some weeks: all of it through the operations of a running server.
import { pause } from '../../runtime/pause.ts'
import { AppError } from '../../core/app-error.ts'
import type { Progress } from '../terminal-progress.ts'
import { DAY_MS } from '../../core/time-zone.ts'
import type { DemoServer } from './demo-server.ts'
import { Dice } from './dice.ts'
import { MAILING_PLANS } from './mailing-plans.ts'
import { makePeople, toImportLines, type DemoPerson } from './people.ts'
import { liveOn, type ShopEvent, type ShopLife } from './shopping.ts'
import { createDemoCampaign, addSentCampaigns, setUpShop } from './shop-setup.ts'
import { simulateMailing, type Addressed } from './simulate-mailing.ts'

export const DEMO_DAYS = 60
const SEED = 20_260_704
/** Some 600 KB of JSON. */
const ITEMS_PER_REPORT = 4_000
const REQUESTS_AT_ONCE = 12
const ASK_EVERY_MS = 700
const STANDSTILL_MS_MAX = 120_000

export interface DemoOptions {
  readonly people: number
  /** The data ends here, in milliseconds since the epoch. */
  readonly now: number
  readonly progress: Progress
}

/** What was sent. */
export interface DemoCounts {
  readonly people: number
  readonly events: number
  readonly campaigns: number
  readonly memberships: number
  readonly message_events: number
}

/** Needs a workspace without data, with its categories. Resolves when everything is in the tables and counted. */
export async function fillDemo(server: DemoServer, workspaceId: string, options: DemoOptions): Promise<DemoCounts> {
  const { now, progress } = options
  const people = makePeople(options.people, { seed: SEED, now, days: DEMO_DAYS })
  progress.show('people')
  const imported = { tile: 'data', body: toImportLines(people), contentType: 'application/x-ndjson' } as const
  await server.call('POST', `/v1/customer/${workspaceId}/import`, imported)
  progress.show('templates, coupon lists and segments')
  const setup = await setUpShop(server, { seed: SEED, now })
  const lives = people.map((person, index) => liveWith(person, SEED + index, now))
  const addressed = people.map((person, index) => ({ person, life: lives[index] as ShopLife }))
  let memberships = 0
  let messageEvents = 0
  for (const [index, plan] of MAILING_PLANS.entries()) {
    progress.show(`the campaign ${plan.name}`)
    const { name, platforms, goals: conversion_goals, createdBy: created_by } = plan
    const campaign = await createDemoCampaign(server, { name, platforms, conversion_goals, created_by })
    const { members, events } = simulateMailing(plan, addressed, { dice: new Dice(SEED - index - 1), now })
    await report(server, `/core-services/v1/campaigns/${campaign}/audience`, { members })
    await report(server, `/core-services/v1/campaigns/${campaign}/message-events`, { events })
    memberships += members.length
    messageEvents += events.length
  }
  const events = await trackLives(server, workspaceId, { addressed, progress })
  const started = await addSentCampaigns(server, setup)
  progress.show('waiting until everything is counted')
  await untilCounted(server)
  await startAndPause(server, started)
  const campaigns = MAILING_PLANS.length + 2
  return { people: people.length, events, campaigns, memberships, message_events: messageEvents }
}

function liveWith(person: DemoPerson, seed: number, now: number): ShopLife {
  return liveOn(person, new Dice(seed), { from: now - DEMO_DAYS * DAY_MS, until: now })
}

/** Sends the items in several requests. */
async function report(
  server: DemoServer,
  path: string,
  lists: Readonly<Record<string, readonly object[]>>,
): Promise<void> {
  for (const [list, items] of Object.entries(lists)) {
    for (let from = 0; from < items.length; from += ITEMS_PER_REPORT) {
      const body = { [list]: items.slice(from, from + ITEMS_PER_REPORT) }
      await server.call('POST', path, { tile: 'reports', body })
    }
  }
}

/** Sends the events of each person in one request. Returns their number. */
async function trackLives(
  server: DemoServer,
  workspaceId: string,
  { addressed, progress }: { readonly addressed: readonly Addressed[]; readonly progress: Progress },
): Promise<number> {
  const rest = addressed.values()
  let sent = 0
  const work = async () => {
    for (const {
      person,
      life: { events },
    } of rest) {
      if (events.length === 0) continue
      await server.call('POST', `/v1/event/${workspaceId}`, { tile: 'data', body: toTracked(person, events) })
      sent += events.length
      progress.show(`${sent} events`)
    }
  }
  await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, work))
  return sent
}

function toTracked({ customerId, platform }: DemoPerson, events: readonly ShopEvent[]) {
  const actions = events
    .toSorted((one, other) => one.at - other.at)
    .map(({ action, attributes, at }) => ({
      action,
      attributes,
      platform,
      ...(platform !== 'WEB' && { app_version: '4.2.0' }),
      user_time: at,
    }))
  return { type: 'event', customer_id: customerId, actions }
}

interface Freshness {
  readonly processed_until: string
}

/** Waits until all that was sent before this call is in the numbers. Throws AppError `unavailable` if the pipeline stands still. */
async function untilCounted(server: DemoServer): Promise<void> {
  const sentAt = Date.now()
  const question = {
    request_id: 'demo',
    attribution_type: 'TOTAL_CONVERSIONS',
    metric_type: 'TOTAL',
    start_date: new Date(sentAt).toISOString().slice(0, 10),
    end_date: new Date(sentAt).toISOString().slice(0, 10),
  }
  let until = 0
  let movedAt = performance.now()
  for (;;) {
    const body = await server.call<Freshness>('POST', '/core-services/v1/campaign-stats', {
      tile: 'reports',
      body: question,
    })
    const next = Date.parse(body.processed_until)
    if (next >= sentAt) return
    if (next > until) movedAt = performance.now()
    until = next
    if (performance.now() - movedAt > STANDSTILL_MS_MAX) throw standsStill()
    await pause(ASK_EVERY_MS)
  }
}

/** Freezes an audience, of which nobody is sent anything: the sender's server does not exist. */
async function startAndPause(server: DemoServer, campaign: string): Promise<void> {
  const path = `/core-services/v1/campaigns/${campaign}`
  await server.call('PUT', `${path}/start`, { tile: 'reports' })
  const startedAt = performance.now()
  for (;;) {
    const { data } = await server.call<{ data: { audience: number; states: { queued: number } }[] }>(
      'GET',
      `${path}/runs`,
      { tile: 'reports' },
    )
    if (data.some(({ states }) => states.queued > 0)) break
    // Without a process that delivers, the campaign stays scheduled.
    if (performance.now() - startedAt > STANDSTILL_MS_MAX) return
    await pause(ASK_EVERY_MS)
  }
  await server.call('PUT', `${path}/pause`, { tile: 'reports' })
}

function standsStill(): AppError {
  const message = 'The server has taken everything, and does not process it. Its diagnostics say why.'
  return new AppError('unavailable', message)
}
