// Judging hits on every store: when, once, by any number of processes, and what the statistics are told.
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { LinkHit } from '../../../src/core/links/link-entry.ts'
import { judgeDueHits, type Judging } from '../../../src/delivery/hits/judge-hits.ts'
import { MachineNetworks } from '../../../src/delivery/hits/machine-networks.ts'
import { listClicks, markHitsTold, forgetHits } from '../../../src/store/delivery/message-hits.ts'
import { eraseMessages } from '../../../src/actions/delivery/erase-messages.ts'
import { erasePerson } from '../../../src/statistics/deletions/erase-person.ts'
import { CUSTOMER_ID } from '../../../src/core/users/user.ts'
import { findUser, type User } from '../../../src/store/users/users.ts'
import { listFactsOf, listHitsOf, storeRun, type SentRun } from '../../support/calls/link-calls.ts'
import { NOW, openPipelineBench, type PipelineBench } from '../../support/pipeline-bench.ts'
import { describeEachStore } from '../../support/stores.ts'

const BROWSER = 'Mozilla/5.0 (Windows NT 10.0) Chrome/126.0.0.0 Safari/537.36'
const GMAIL = `${BROWSER} (via ggpht.com GoogleImageProxy)`

describeEachStore('Judging hits', (kind) => {
  let bench: PipelineBench
  let run: SentRun
  let options: Judging
  let now: number

  beforeEach(async () => {
    bench = await openPipelineBench(kind)
    await bench.makeWorkspace()
    const campaign = await bench.makeCampaign()
    const users = ['c1', 'c2'].map((customer_id) => ({ customer_id, attributes: {} }))
    await bench.append(...users.map((body) => ({ kind: 'track_user' as const, body })))
    await bench.follow()
    run = await storeRun(bench.database, { workspaceId: bench.workspaceId, campaign, customers: ['c1', 'c2'] })
    const { database, log, logReader } = bench
    now = NOW
    options = { database, log, logReader, clock: () => now, networks: new MachineNetworks([]) }
  })
  afterEach(() => bench.close())

  const hit = (rest: Partial<LinkHit> = {}): LinkHit => ({
    run: run.number,
    message: 1,
    kind: 'click',
    link: 1,
    at: NOW,
    ip: '192.0.2.1',
    user_agent: BROWSER,
    is_automatic: false,
    ...rest,
  })
  const open = (rest: Partial<LinkHit> = {}) => hit({ kind: 'open', link: 0, ...rest })

  /** Appends hits, each in an entry of its own, and applies them. */
  const receive = async (...hits: readonly LinkHit[]) => {
    const context = { campaign: run.campaign }
    await bench.append(...hits.map((one) => ({ kind: 'svc_hits' as const, body: { hits: [one] }, context })))
    await bench.follow()
  }
  const judgeAt = async (at: number) => {
    now = at
    await judgeDueHits(options)
    await bench.follow()
  }
  const verdicts = async () => (await listHitsOf(bench.database, run.number)).map(({ verdict }) => verdict)
  const facts = async () => {
    const stored = await listFactsOf(bench.database, run.campaign)
    return stored.map(({ kind: of, time, messageId }) => `${of} ${messageId} ${time - NOW}`).toSorted()
  }

  it('waits ten seconds, because a burst may follow', async () => {
    await receive(hit())
    await judgeAt(NOW + 10_000)
    expect([await verdicts(), await facts()]).toEqual([[null], []])
    await judgeAt(NOW + 10_001)
    expect([await verdicts(), await facts()]).toEqual([['person'], [`click ${run.number}-1 0`]])
  })

  it('tells what people, machines and proxies did', async () => {
    await receive(
      hit({ at: NOW }),
      hit({ at: NOW + 1, message: 2, is_automatic: true }),
      open({ at: NOW + 2 }),
      open({ at: NOW + 3, user_agent: GMAIL }),
      open({ at: NOW + 4, message: 2, user_agent: null }),
    )
    await judgeAt(NOW + 60_000)
    expect(await facts()).toEqual(
      [
        `click ${run.number}-1 0`,
        `machine_click ${run.number}-2 1`,
        `impression ${run.number}-1 2`,
        `impression ${run.number}-1 3`,
        `proxy_impression ${run.number}-1 3`,
        `machine_impression ${run.number}-2 4`,
      ].toSorted(),
    )
  })

  it('tells each hit of a message, also of those in one millisecond, and the same again after a crash', async () => {
    const machine = { is_automatic: true }
    await receive(hit(machine), hit({ ...machine, link: 2 }), hit({ ...machine, message: 2 }), open(machine))
    await receive(hit({ ...machine, link: 2 }), hit({ ...machine, at: NOW - 1 }), hit({ ...machine, at: NOW + 1_000 }))
    await judgeAt(NOW + 60_000)
    const told = await facts()
    expect(told).toEqual(
      [
        ...[0, 1, 3, 4, 1_000].map((after) => `machine_click ${run.number}-1 ${after}`),
        `machine_click ${run.number}-2 0`,
        `machine_impression ${run.number}-1 2`,
      ].toSorted(),
    )
    await bench.database.write((store) => store.query.updateTable('message_hits').set({ is_told: 0 }).execute())
    await judgeAt(NOW + 60_000)
    expect(await facts()).toEqual(told)
  })

  it('dates no hit by one that a wrong clock dated', async () => {
    await receive(hit({ at: NOW + 5_000 }), hit({ at: NOW + 3_000 }), hit({ at: NOW + 4_500 }))
    await judgeAt(NOW + 60_000)
    expect(await facts()).toEqual([3_000, 5_000, 5_001].map((after) => `click ${run.number}-1 ${after}`))
  })

  it('gives an open the same verdict whenever it judges it, if a burst follows', async () => {
    const burst = (at: number) => [1, 2, 3].map((link) => hit({ link, at: at + (link - 1) * 1_000 }))
    await receive(open({ at: NOW }), ...burst(NOW + 8_000))
    await receive(open({ at: NOW, message: 2 }), ...burst(NOW + 8_001).map((one) => ({ ...one, message: 2 })))
    await judgeAt(NOW + 10_001)
    expect((await verdicts()).filter((verdict) => verdict !== null)).toEqual(['machine', 'person'])
    const unjudged = { verdict: null, is_told: 0 }
    await bench.database.write((store) => store.query.updateTable('message_hits').set(unjudged).execute())
    await judgeAt(NOW + 60_000)
    const opens = (await listHitsOf(bench.database, run.number)).filter(({ kind: of }) => of === 'open')
    expect(opens.map(({ verdict }) => verdict)).toEqual(['machine', 'person'])
  })

  it('looks for bursts among a limited number of clicks on a message, the same ones whatever the period', async () => {
    const many = Array.from({ length: 1_500 }, (_, index) => hit({ at: NOW + index, link: (index % 9) + 1 }))
    await bench.append({ kind: 'svc_hits', body: { hits: many }, context: { campaign: run.campaign } })
    await bench.follow()
    const listFrom = async (since: number) => {
      const period = { run: run.number, message: 1, since, until: NOW + 60_000 }
      return (await listClicks(bench.database, [period]))
        .map(({ at }) => at - NOW)
        .toSorted((one, other) => one - other)
    }
    const listed = await listFrom(NOW)
    expect([listed.length, listed.at(-1)]).toEqual([1_000, 999])
    expect(await listFrom(NOW + 1_200)).toEqual(listed)
    await judgeAt(NOW + 60_000)
    expect(new Set(await verdicts())).toEqual(new Set(['machine']))
  })

  it('judges the first click of a burst like the last, and the opens around it', async () => {
    await receive(
      open({ at: NOW - 500 }),
      ...[1, 2, 3].map((link) => hit({ link, at: NOW + link * 500 })),
      hit({ link: 1, at: NOW + 11_000 }),
      hit({ link: 1, at: NOW + 12_000 }),
      hit({ link: 1, message: 2, at: NOW + 1_000 }),
    )
    await judgeAt(NOW + 10_500)
    await judgeAt(NOW + 60_000)
    expect(await verdicts()).toEqual(['machine', 'machine', 'machine', 'machine', 'machine', 'person', 'person'])
  })

  it('knows the addresses of machines', async () => {
    const networks = [{ address: '198.51.100.0', prefix: 24, family: 'ipv4', opens: false, clicks: true }] as const
    options = { ...options, networks: new MachineNetworks(networks) }
    await receive(hit({ ip: '198.51.100.7' }), open({ ip: '198.51.100.7' }), hit({ ip: '198.51.101.7' }))
    await judgeAt(NOW + 60_000)
    expect(await verdicts()).toEqual(['machine', 'person', 'person'])
  })

  it('waits while the pipeline is behind', async () => {
    await receive(hit())
    const late = { kind: 'svc_hits' as const, body: { hits: [hit({ link: 2, at: NOW + 1 })] } }
    await bench.append({ ...late, receivedAt: NOW + 1, context: { campaign: run.campaign } })
    now = NOW + 60_000
    await judgeDueHits(options)
    expect(await verdicts()).toEqual([null])
    await bench.follow()
    await judgeAt(NOW + 60_000)
    expect(await verdicts()).toEqual(['person', 'person'])
  })

  it('repeated, by two processes, or after a crash before it noted what it told, changes nothing', async () => {
    await receive(hit(), open({ at: NOW + 1, user_agent: GMAIL }))
    now = NOW + 60_000
    await Promise.all([judgeDueHits(options), judgeDueHits(options), judgeDueHits(options)])
    await bench.follow()
    const told = await facts()
    expect(told).toHaveLength(3)
    const untold = bench.database.write((store) =>
      store.query.updateTable('message_hits').set({ is_told: 0 }).execute(),
    )
    await untold
    await judgeAt(NOW + 60_000)
    expect(await facts()).toEqual(told)
    expect((await listHitsOf(bench.database, run.number)).map(({ is_told }) => is_told)).toEqual([1, 1])
  })

  it('keeps a verdict, whatever it would judge now', async () => {
    await receive(hit({ ip: '198.51.100.7' }))
    await judgeAt(NOW + 60_000)
    const networks = [{ address: '198.51.100.0', prefix: 24, family: 'ipv4', opens: true, clicks: true }] as const
    options = { ...options, networks: new MachineNetworks(networks) }
    await judgeAt(NOW + 60_000)
    expect(await verdicts()).toEqual(['person'])
  })

  it.each(['before', 'after'])('counts nothing of a person who is erased %s it tells the log', async (when) => {
    await receive(hit(), hit({ message: 2 }))
    const person = { name: CUSTOMER_ID, value: 'c1' }
    const user = (await findUser(bench.database, bench.workspaceId, person)) as User
    now = NOW + 60_000
    if (when === 'after') await judgeDueHits(options)
    await bench.database.write(async (store) => {
      await eraseMessages(store, user)
      await erasePerson(store, user, { by: 'key:data', now: NOW })
    })
    await judgeAt(now)
    expect(await facts()).toEqual([`click ${run.number}-2 0`])
    expect(await findUser(bench.database, bench.workspaceId, person)).toBeUndefined()
  })

  it('judges more hits than one portion holds', async () => {
    const many = Array.from({ length: 2_500 }, (_, index) => hit({ at: NOW + index * 10_000 }))
    const entry = { kind: 'svc_hits' as const, body: { hits: many }, context: { campaign: run.campaign } }
    await bench.append(entry)
    await bench.follow()
    await judgeAt(NOW + 2_500 * 10_000 + 60_000)
    expect(new Set(await verdicts())).toEqual(new Set(['person']))
    expect(await facts()).toHaveLength(2_500)
  })

  it('forgets only old hits that were told', async () => {
    await receive(hit({ at: NOW }), hit({ at: NOW + 1 }), hit({ at: NOW + 2 }))
    const forget = (before: number) => bench.database.write((store) => forgetHits(store, before))
    expect(await forget(NOW + 10)).toBe(false)
    expect(await listHitsOf(bench.database, run.number)).toHaveLength(3)
    const { query } = bench.database
    const ids = (await query.selectFrom('message_hits').select('id').orderBy('id').execute()).map(({ id }) => id)
    await bench.database.write((store) => markHitsTold(store, ids))
    expect(await forget(NOW + 2)).toBe(false)
    expect(await listHitsOf(bench.database, run.number)).toHaveLength(1)
  })
})

it.each<[string, 'open' | 'click', boolean]>([
  ['198.51.100.255', 'click', true],
  ['::ffff:198.51.100.1', 'click', true],
  ['198.51.100.1', 'open', false],
  ['198.51.101.1', 'click', false],
  ['2001:db8::1', 'open', true],
  ['2001:db9::1', 'open', false],
  ['not an address', 'click', false],
])('The address %s is listed for %ss: %s', (ip, of, isListed) => {
  const networks = new MachineNetworks([
    { address: '198.51.100.0', prefix: 24, family: 'ipv4', opens: false, clicks: true },
    { address: '2001:db8::', prefix: 32, family: 'ipv6', opens: true, clicks: true },
  ])
  expect(networks.has(ip, of)).toBe(isListed)
})
