// What tests of campaigns with delivery do again and again: make what a delivery names, make and change the campaigns.
import { v7 as newSenderId } from 'uuid'
import { SENDER_LIMIT_DEFAULTS } from '../../../src/core/senders/sender.ts'
import type { CampaignBody } from '../../../src/operations/campaigns/campaign-body.ts'
import { findCampaign } from '../../../src/store/campaigns/campaigns.ts'
import { findDelivery, type StoredDelivery } from '../../../src/store/delivery/deliveries.ts'
import { addSender, lockSenders, type NewSender, type StoredSender } from '../../../src/store/senders/senders.ts'
import { campaignCallsOf, CAMPAIGNS_PATH, type CampaignCalls } from '../calls/campaign-calls.ts'
import { newTemplate, TEMPLATES, type Saved } from '../calls/template-calls.ts'
import type { Answer, TestServer, TestWorkspace } from '../server.ts'

type Members = Readonly<Record<string, unknown>>
export type Verb = 'start' | 'pause' | 'resume' | 'cancel'

/** Everybody has a creation time after this one. */
export const EVERYBODY = { created: { after: '1971-01-01T00:00:00Z' } }

export interface DeliveryCalls extends CampaignCalls {
  addSender(fields?: Partial<NewSender>, as?: TestWorkspace): Promise<StoredSender>
  /** Saves a template that must be valid; returns its id. */
  addTemplate(meta?: Members, details?: Members, as?: TestWorkspace): Promise<string>
  /** A delivery that can be started, to everybody; makes up what is not given. */
  deliveryOf(fields?: Members, as?: TestWorkspace): Promise<Members>
  /** Makes a campaign with such a delivery; returns its id. */
  makeDelivered(fields?: Members, as?: TestWorkspace): Promise<string>
  put(id: string, verb: Verb, as?: TestWorkspace): Promise<Answer<unknown>>
  stateOf(id: string, as?: TestWorkspace): Promise<CampaignBody['state']>
  storedOf(id: string, as?: TestWorkspace): Promise<StoredDelivery>
}

export function deliveryCallsOf(server: TestServer): DeliveryCalls {
  const calls = campaignCallsOf(server)
  const main = server.workspace
  const made: DeliveryCalls['addSender'] = (fields = {}, as = main) => {
    const sender = { ...newSender(as.id), ...fields }
    return server.database.write(async (store) => {
      await lockSenders(store)
      return addSender(store, sender)
    })
  }
  const addTemplate: DeliveryCalls['addTemplate'] = async (meta = {}, details = {}, as = main) => {
    const answer = await server.call<Saved>('POST', TEMPLATES, { as, body: newTemplate(meta, details) })
    return answer.body.external_template_id
  }
  const deliveryOf: DeliveryCalls['deliveryOf'] = async (fields = {}, as = main) => ({
    sender_id: 'sender_id' in fields ? fields['sender_id'] : (await made({}, as)).id,
    audience: { include: [EVERYBODY] },
    variations: fields['variations'] ?? [
      { name: 'A', share: 100, external_template_id: await addTemplate({}, {}, as) },
    ],
    ...fields,
  })
  return {
    ...calls,
    addSender: made,
    addTemplate,
    deliveryOf,
    makeDelivered: async (fields, as = main) => calls.make({ delivery: await deliveryOf(fields, as) }, as),
    put: (id, verb, as = main) => calls.call('PUT', `${CAMPAIGNS_PATH}/${id}/${verb}`, { as }),
    stateOf: async (id, as = main) => (await calls.fetch(id, as)).state,
    async storedOf(id, as = main) {
      const campaign = await findCampaign(server.database, as.id, id)
      return (await findDelivery(server.database, campaign?.number ?? 0)) as StoredDelivery
    },
  }
}

/** A sender with a server that nobody asks. */
function newSender(workspaceId: string): NewSender {
  return {
    id: newSenderId(),
    workspaceId,
    name: 'News',
    fromEmail: 'news@shop.example',
    fromName: 'The shop',
    replyTo: null,
    returnPathDomain: null,
    smtp: { host: '127.0.0.1', port: 25, security: 'none', username: null },
    sealedPassword: null,
    dkim: null,
    sealedDkimKey: null,
    limits: SENDER_LIMIT_DEFAULTS,
    trackingUrl: 'https://links.shop.example',
    createdAt: 1,
  }
}
