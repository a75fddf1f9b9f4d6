// What the log tells of messages reaches the right person on every store: merged people keep theirs, and erased ones stay erased.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { eraseMessages } from '../../src/actions/delivery/erase-messages.ts'
import { recordFeedback } from '../../src/actions/feedback/record-feedback.ts'
import type { DeliveryBody, DeliveryOutcome } from '../../src/core/delivery/delivery-entry.ts'
import type { Workspace } from '../../src/core/workspace.ts'
import { CUSTOMER_ID } from '../../src/core/users/user.ts'
import { erasePerson } from '../../src/statistics/deletions/erase-person.ts'
import { findMessage } from '../../src/store/delivery/linked-messages.ts'
import { countStates, ERASED_USER } from '../../src/store/delivery/messages.ts'
import { findUser, findUserId, type User } from '../../src/store/users/users.ts'
import { findWorkspace } from '../../src/store/workspaces/workspaces.ts'
import { listFactsOf, storeRun, type SentRun } from '../support/calls/link-calls.ts'
import { NOW, openPipelineBench, type PipelineBench } from '../support/pipeline-bench.ts'
import { describeEachStore } from '../support/stores.ts'

const FENCE = 1
const REPLY = { code: 250, enhancedCode: '2.0.0', text: 'accepted c1@example.com', host: 'mx.example.com' }

describeEachStore('Messages in the pipeline', (kind) => {
  let bench: PipelineBench
  let run: SentRun

  beforeEach(async () => {
    bench = await openPipelineBench(kind)
    await bench.makeWorkspace({ identityResolution: ['crm'] })
    const campaign = await bench.makeCampaign()
    await track(...['c1', 'c2', 'c3'].map((customer_id) => ({ customer_id })))
    const customers = ['c1', 'c2', 'c3']
    run = await storeRun(bench.database, { workspaceId: bench.workspaceId, campaign, customers })
  })
  afterEach(() => bench.close())

  const track = async (...people: readonly object[]) => {
    const entries = people.map((body) => ({ kind: 'track_user' as const, body: { attributes: {}, ...body } }))
    await bench.append(...entries)
    await bench.follow()
  }
  const setState = async (number: number, state: string) => {
    await bench.database.write(({ query }) => {
      const claimed = query.updateTable('messages').set({ state, claim: FENCE }).where('run', '=', run.number)
      return claimed.where('number', '=', number).execute()
    })
  }
  const message = (number: number) => findMessage(bench.database, { run: run.number, number })
  const idOf = (value: string) => findUserId(bench.database, bench.workspaceId, { name: CUSTOMER_ID, value })
  const erase = async (value: string) => {
    const user = (await findUser(bench.database, bench.workspaceId, { name: CUSTOMER_ID, value })) as User
    await bench.database.write(async (store) => {
      await eraseMessages(store, user)
      await erasePerson(store, user, { by: 'key:data', now: NOW })
    })
  }
  const tell = async (...told: readonly (readonly [number: number, outcome: DeliveryOutcome])[]) => {
    const events = told.map(([number, outcome]) => {
      return { message: number, customer_id: `c${number}`, at: NOW, claim: FENCE, ...outcome }
    })
    const body: DeliveryBody = { run: run.number, evaluated_at: NOW, events }
    await bench.append({ kind: 'svc_delivery', body, context: { campaign: run.campaign } })
    await bench.follow()
  }

  it('go to the user who stays when users are merged, also one after the other in a batch', async () => {
    const joined = (customer_id: string, crm: string) => ({ customer_id, user_identifiers: { crm } })
    await track(joined('c1', 'x'), joined('c2', 'x'), joined('c2', 'y'), joined('c3', 'y'))
    const owner = await idOf('c1')
    expect(await idOf('c3')).toBe(owner)
    for (const number of [1, 2, 3]) expect((await message(number))?.userId).toBe(owner)
  })

  it('keep their state and lose their person when the person is erased', async () => {
    await erase('c1')
    expect(await message(1)).toMatchObject({ state: 'sent', userId: ERASED_USER, customerId: '', emailKey: '' })
    expect(await countStates(bench.database, run.number)).toEqual(new Map([['sent', 3]]))
  })

  it('leave the audience when the person is erased while they wait', async () => {
    await setState(1, 'queued')
    await setState(2, 'deferred')
    await erase('c1')
    await erase('c2')
    expect([await message(1), await message(2)]).toEqual([undefined, undefined])
    expect(await countStates(bench.database, run.number)).toEqual(new Map([['sent', 1]]))
  })

  it('get the outcome that is told after an erasure, which creates nobody again', async () => {
    await setState(1, 'sending')
    await setState(2, 'sending')
    await erase('c1')
    await tell([1, { kind: 'sent', reply: REPLY }], [2, { kind: 'sent', reply: REPLY }])
    expect([(await message(1))?.state, (await message(2))?.state]).toEqual(['sent', 'sent'])
    expect(await idOf('c1')).toBeUndefined()
    const facts = await listFactsOf(bench.database, run.campaign)
    expect(facts.map(({ messageId }) => messageId)).toEqual([`${run.number}-2`])
    const texts = await bench.database.query.selectFrom('message_attempts').select(['message', 'text']).execute()
    expect(texts.filter((one) => one.message === 1 && one.text !== '')).toEqual([])
  })

  it('bring nobody back by feedback that the log was told just before an erasure', async () => {
    const { database, log } = bench
    await database.write(({ query }) => query.updateTable('messages').set({ sent_at: NOW }).execute())
    const { workspace } = (await findWorkspace(database, bench.workspaceId)) as { workspace: Workspace }
    const outcome = { kind: 'bounce', reason: 'hard_bounce', address: 'hard_bounce', evidence: 'gone' } as const
    const reports = [1, 2].map((number) => ({ outcome, tokens: [run.tokenOf('bounce', number)] }))
    const request = { workspace, requestId: 'feedback', now: NOW, ip: '192.0.2.1' }
    await recordFeedback(reports, request, { database, log, waitUntilApplied: async () => {}, receiptClock: () => NOW })
    await erase('c1')
    await bench.follow()
    expect(await idOf('c1')).toBeUndefined()
    const facts = await listFactsOf(database, run.campaign)
    expect(facts).toMatchObject([{ kind: 'bounce', messageId: `${run.number}-2` }])
  })

  it('leave reports of clients as they are: one of an erased person makes a new user', async () => {
    await erase('c1')
    const event = { customer_id: 'c1', platform: 'EMAIL', kind: 'click', time: NOW, message_id: `${run.number}-1` }
    await bench.append({ kind: 'svc_message_events', body: { events: [event] }, context: { campaign: run.campaign } })
    await bench.follow()
    expect(await idOf('c1')).toBeDefined()
    expect(await listFactsOf(bench.database, run.campaign)).toMatchObject([{ kind: 'click' }])
  })
})
