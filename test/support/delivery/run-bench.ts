// A run on a real store, taken from step to step by the test itself, so that it decides what happens in between.
import { eraseMessages } from '../../../src/actions/delivery/erase-messages.ts'
import type { Delivery } from '../../../src/core/delivery/delivery.ts'
import type { TemplateVersion } from '../../../src/core/templates/template.ts'
import { CUSTOMER_ID } from '../../../src/core/users/user.ts'
import type { DeliveryParts } from '../../../src/delivery/delivery-parts.ts'
import { beginRuns } from '../../../src/delivery/run/begin-runs.ts'
import { claimBlock, type ClaimedMessage, type ClaimOptions } from '../../../src/delivery/run/claim-block.ts'
import { compareSlice, freezeSlice } from '../../../src/delivery/run/freeze-run.ts'
import { readOpenRuns, type OpenRun } from '../../../src/delivery/run/open-run.ts'
import { tellSlice } from '../../../src/delivery/run/tell-audience.ts'
import { erasePerson } from '../../../src/statistics/deletions/erase-person.ts'
import { addDelivery, saveDeliveryStart } from '../../../src/store/delivery/deliveries.ts'
import { listMessagesAfter } from '../../../src/store/delivery/frozen-messages.ts'
import { firstClaimUnder } from '../../../src/store/delivery/message-claims.ts'
import type { RunMessage } from '../../../src/store/delivery/messages.ts'
import { lockTables } from '../../../src/store/entries/lock-tables.ts'
import { takeSenderLease, type SenderLease } from '../../../src/store/senders/sender-leases.ts'
import type { Database } from '../../../src/store/store.ts'
import { addTemplateVersion } from '../../../src/store/templates/template-versions.ts'
import { findUser, findUserId, type User } from '../../../src/store/users/users.ts'
import { NOW, openPipelineBench, type PipelineBench } from '../pipeline-bench.ts'
import type { StoreKind } from '../stores.ts'

const SENDER = 1
const LEASE_MS = 3_600_000

export interface RunBench extends PipelineBench {
  readonly campaign: number
  /** Tells the pipeline of people, and applies it. */
  track(...people: readonly { readonly customer_id: string; readonly [member: string]: unknown }[]): Promise<void>
  idOf(customerId: string): Promise<number | undefined>
  /** Erases a person as the operation does, in one transaction of this database. */
  erase(customerId: string, database?: Database): Promise<void>
  /** Starts the campaign, to everybody, and begins its run. */
  start(settings?: Partial<Delivery>): Promise<void>
  /** Begins the run, if it has not begun. */
  begin(): Promise<void>
  open(): Promise<OpenRun>
  freeze(database?: Database): Promise<void>
  /** Tells the audience, with this log. */
  tell(log?: DeliveryParts['log']): Promise<void>
  claim(database?: Database, options?: Partial<ClaimOptions>): Promise<ClaimedMessage[]>
  messages(): Promise<RunMessage[]>
}

export async function openRunBench(kind: StoreKind): Promise<RunBench> {
  const bench = await openPipelineBench(kind)
  await bench.makeWorkspace({ identityResolution: ['crm'] })
  const { database, log, logReader, workspaceId } = bench
  const campaign = await bench.makeCampaign()
  let lease: SenderLease = { sender: SENDER, fence: 0 }
  let claims = 0
  const open = async () => (await readOpenRuns(database, SENDER))[0] as OpenRun
  const begin = () => beginRuns({ database, logReader, clock: () => NOW } as DeliveryParts, lease, new Map())
  const identity = (value: string) => ({ name: CUSTOMER_ID, value })
  return Object.assign(bench, {
    campaign,
    async track(...people) {
      const entries = people.map((body) => ({ kind: 'track_user' as const, body: { attributes: {}, ...body } }))
      await bench.append(...entries)
      await bench.follow()
    },
    idOf: (customerId) => findUserId(database, workspaceId, identity(customerId)),
    erase: (customerId, in_ = database) =>
      in_.write(async (store) => {
        await lockTables(store)
        const user = (await findUser(store, workspaceId, identity(customerId))) as User
        await eraseMessages(store, user)
        await erasePerson(store, user, { by: 'key:data', now: NOW })
      }),
    async start(changes = {}) {
      const settings = { ...SETTINGS, ...changes }
      await database.write(async (store) => {
        await addTemplateVersion(store, workspaceId, TEMPLATE)
        await addDelivery(store, { campaign, workspaceId, settings, seed: 'seed' })
        const started = { campaign, workspaceId, settings, startAt: null, sender: SENDER, pinned: PINNED }
        await saveDeliveryStart(store, started)
        const wish = { sender: SENDER, holder: 'test', keptMs: LEASE_MS, isAlone: true }
        lease = (await takeSenderLease(store, wish)) as SenderLease
      })
      await begin()
    },
    begin,
    open,
    freeze: async (in_ = database) => freezeSlice(in_, lease, await open()),
    async tell(to = log) {
      const run = await open()
      if (run.run.phase === 'comparing') await database.write((store) => compareSlice(store, lease, run, ''))
      await tellSlice({ database, log: to } as DeliveryParts, lease, run)
    },
    async claim(in_ = database, options = {}) {
      const claim = firstClaimUnder(lease.fence) + ++claims
      const all = {
        open: await open(),
        max: 10,
        claim,
        now: NOW,
        emailVault: undefined,
        couponLabelsOf: () => [],
        ...options,
      }
      return in_.write((store) => claimBlock(store, lease, all))
    },
    messages: async () => listMessagesAfter(database, (await open()).run.number, { after: 0, max: 1_000 }),
  } satisfies Omit<RunBench, keyof PipelineBench>)
}

const SETTINGS: Delivery = {
  senderId: 'sender',
  audience: { include: [{ attribute: 'email', operator: 'exists' }], exclude: [] },
  variations: [{ name: 'A', share: 100, externalTemplateId: 'template' }],
  consent: 'transactional',
  category: null,
  campaignControlPercent: 0,
  globalControl: false,
  startAt: null,
  giveUpAfterHours: 1,
  graceHours: 1,
  capped: true,
  couponsWhenEmpty: 'skip',
  tracking: { opens: false, clicks: false },
}

const TEMPLATE: TemplateVersion = {
  externalTemplateId: 'template',
  version: 1,
  details: { emailContent: '<p>Hello</p>', subject: 'News', attachments: [], thumbnailUrl: '', senderName: '' },
  meta: {
    templateId: 'template',
    templateName: 'Template',
    templateVersion: '1',
    templateType: 'CUSTOM',
    createdBy: 'anna',
    groupId: null,
    locale: null,
    variation: null,
  },
  source: 'API',
  createdAt: 1,
  updatedAt: 1,
  updatedBy: 'anna',
}

const PINNED = [
  { name: 'A', share: 100, template: { externalTemplateId: 'template', version: 1, locale: null }, members: [] },
]
