// Groups, variations and locales of a campaign that is sent: who is in which, what each gets, and how statistics count them.
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { addMailing, addPeople, addTemplate, changeMailing } from '../../support/delivery/mailing.ts'
import { statsOf } from '../../support/delivery/mailing-stats.ts'
import {
  finishMailing,
  messagesOf,
  peopleOf,
  reasonsIn,
  recipientsIn,
  sendMailing,
  useMailingBench,
} from '../../support/delivery/mailing-server.ts'
import { readMail } from '../../support/mail-sink/read-mail.ts'
import { describeEachStore } from '../../support/stores.ts'

/** As the specification says, computed in another way than the program does. */
function bucket(purpose: string, seed: string, customerId: string): number {
  const hex = createHash('sha256').update([purpose, seed, customerId].join('\0')).digest('hex')
  return Number.parseInt(hex.slice(0, 12), 16) / 2 ** 48
}

describeEachStore('groups and variations of a campaign', (kind) => {
  const bench = useMailingBench(kind)

  const seedsOf = async (workspaceId: string) => {
    const { query } = bench.server.database
    const workspace = query.selectFrom('workspaces').select('global_control_seed').where('id', '=', workspaceId)
    const delivery = query.selectFrom('deliveries').select('seed').where('workspace_id', '=', workspaceId)
    return {
      workspace: (await workspace.executeTakeFirstOrThrow()).global_control_seed,
      campaign: (await delivery.executeTakeFirstOrThrow()).seed,
    }
  }

  it('follow the hash: global control, then campaign control, then the shares of variations', async () => {
    const server = await bench.makeWorkspace({ globalControlPercent: 15 })
    await addPeople(server, peopleOf(300, 'groups.example'))
    const [a, b] = [
      await addTemplate(server, { subject: 'Letter A' }),
      await addTemplate(server, { subject: 'Letter B' }),
    ]
    const variations = [
      { name: 'A', share: 25, external_template_id: a },
      { name: 'B', share: 75, external_template_id: b },
    ]
    const delivery = { variations, campaign_control_percent: 20 }
    const { messages, campaign, run } = await sendMailing(server, bench.sink, { delivery })
    const seeds = await seedsOf(server.workspace.id)
    const expected = [...messages.keys()].map((id) => {
      if (bucket('global_control', seeds.workspace, id) < 0.15) return [id, 'global_control', null, 'control']
      if (bucket('campaign_control', seeds.campaign, id) < 0.2) return [id, 'campaign_control', null, 'control']
      return [id, 'target', bucket('variation', seeds.campaign, id) < 0.25 ? 'A' : 'B', 'sent']
    })
    const shown = [...messages].map(([id, { group, variation, state }]) => [id, group, variation, state])
    expect(shown).toEqual(expected)
    const count = (group: string) => expected.filter(([, of]) => of === group).length
    expect(run).toMatchObject({
      audience: 300,
      states: { control: 300 - count('target'), sent: count('target') },
    })
    const mails = bench.sink.mails.list().filter(({ to }) => to[0]?.endsWith('@groups.example'))
    expect(mails).toHaveLength(count('target'))
    for (const { to, raw } of mails) {
      const id = `p${String(to[0]?.split('@')[0]).padStart(4, '0')}`
      const subject = readMail(raw).headers.find(([name]) => name === 'Subject')?.[1]
      expect(subject).toBe(`Letter ${messages.get(id)?.variation}`)
    }

    const stats = await statsOf(server, campaign, run)
    expect(stats.all).toMatchObject({
      performance_stats: { attempted: count('target'), sent: count('target') },
      campaign_control_group: {
        delivery_funnel: { reachable_users_in_segment: count('campaign_control') },
        failure_breakdown: { user_removed_due_to_campaing_control_group: count('campaign_control') },
      },
      global_control_group: {
        delivery_funnel: { reachable_users_in_segment: count('global_control') },
        failure_breakdown: { user_removed_due_to_global_control_group: count('global_control') },
      },
    })
    for (const name of ['A', 'B']) {
      const sent = expected.filter(([, , variation]) => variation === name).length
      expect(stats.of('all_locales', name)).toMatchObject({ performance_stats: { sent }, delivery_funnel: { sent } })
    }
  })

  it('stay where they are when the audience grows and the campaign is renamed', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, peopleOf(60, 'small.example'))
    const variations = await Promise.all(
      [40, 60].map(async (share, index) => ({
        name: `V${index}`,
        share,
        external_template_id: await addTemplate(server),
      })),
    )
    const delivery = { variations, campaign_control_percent: 30 }
    const campaign = await addMailing(server, bench.sink, { delivery })
    const { campaign: seed } = await seedsOf(server.workspace.id)
    await server.call('PATCH', `/core-services/v1/campaigns/${campaign}`, {
      tile: 'reports',
      body: { name: 'Other name' },
    })
    await addPeople(server, peopleOf(120, 'small.example'))
    await changeMailing(server, campaign, 'start')
    const { messages } = await finishMailing(server, campaign)
    expect(messages.size).toBe(120)
    for (const [id, { group, variation }] of messages) {
      const isControl = bucket('campaign_control', seed, id) < 0.3
      const name = bucket('variation', seed, id) < 0.4 ? 'V0' : 'V1'
      expect([id, group, variation]).toEqual([id, ...(isControl ? ['campaign_control', null] : ['target', name])])
    }
  })

  it('come before removals: control groups have those who could not be sent to as well', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, peopleOf(100, 'out.example', { opt_in_status: 'OPTED_OUT' }))
    const delivery = { campaign_control_percent: 50 }
    const { run, campaign } = await sendMailing(server, bench.sink, { delivery })
    const { control = 0, removed } = run.states
    expect(control).toBeGreaterThan(20)
    expect(removed).toBe(100 - control)
    expect((await statsOf(server, campaign, run)).all).toMatchObject({
      failure_breakdown: { user_removed_due_to_opt_out: removed },
      campaign_control_group: {
        failure_breakdown: { user_removed_due_to_campaing_control_group: control },
      },
    })
  })

  it('leave the global control group out where the campaign says so', async () => {
    const server = await bench.makeWorkspace({ globalControlPercent: 15 })
    await addPeople(server, peopleOf(60, 'all.example'))
    const { run } = await sendMailing(server, bench.sink, { delivery: { global_control: false } })
    expect(run.states).toMatchObject({ sent: 60, control: 0 })
  })

  it('send to no address that a control person of the run has too', async () => {
    const server = await bench.makeWorkspace()
    const pairs = Array.from({ length: 30 }, (_, index) =>
      ['x', 'y'].map((part) => ({ customer_id: `${part}${index}`, email: `${index}@pairs.example` })),
    )
    await addPeople(server, pairs.flat())
    const { messages } = await sendMailing(server, bench.sink, { delivery: { campaign_control_percent: 40 } })
    const isControl = (id: string) => messages.get(id)?.group !== 'target'
    const expected = pairs.flatMap(([x, y], index) => {
      return isControl(x?.customer_id ?? '') || isControl(y?.customer_id ?? '') ? [] : [`${index}@pairs.example`]
    })
    expect(recipientsIn(bench.sink, 'pairs.example')).toEqual(expected.toSorted())
    const reasons = new Set(Object.values(reasonsIn(messages)))
    expect(reasons).toEqual(new Set(['user_removed_due_to_duplicate']))
  })

  it('give each person the member of the locale, which is counted', async () => {
    const server = await bench.makeWorkspace()
    const parent = await addTemplate(server, { subject: 'default' })
    for (const locale of ['pt-BR', 'pt']) {
      await addTemplate(server, { subject: locale }, { group_id: parent, locale })
    }
    const locales = ['pt-BR', 'pt-PT', 'pt', 'de', undefined]
    await addPeople(
      server,
      locales.map((locale, index) => ({
        customer_id: `l${index}`,
        email: `l${index}@locales.example`,
        ...(locale && { locale }),
      })),
    )
    const variations = [{ name: 'A', share: 100, external_template_id: parent }]
    const { messages, campaign, run } = await sendMailing(server, bench.sink, { delivery: { variations } })
    expect([0, 1, 2, 3, 4].map((index) => messages.get(`l${index}`)?.locale)).toEqual(['pt-BR', 'pt', 'pt', null, null])
    const subjects = bench.sink.mails
      .list()
      .filter(({ to }) => to[0]?.endsWith('@locales.example'))
      .map(({ to, raw }) => [to[0]?.slice(0, 2), readMail(raw).headers.find(([name]) => name === 'Subject')?.[1]])
    expect(Object.fromEntries(subjects)).toEqual({ l0: 'pt-BR', l1: 'pt', l2: 'pt', l3: 'default', l4: 'default' })
    const stats = await statsOf(server, campaign, run)
    expect(stats.of('pt-BR', 'all_variations')).toMatchObject({ performance_stats: { sent: 1, attempted: 1 } })
    expect(stats.of('pt', 'all_variations')).toMatchObject({ performance_stats: { sent: 2 } })
    expect(stats.all).toMatchObject({ performance_stats: { sent: 5 } })
    await messagesOf(server, campaign)
  })
})
