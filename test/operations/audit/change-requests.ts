// One request to each operation that changes something, for the tests of the audit trail. A new operation needs a line here, or one
// in `NOT_RECORDED` with the reason.
import { CUSTOMER_ID } from '../../../src/core/users/user.ts'
import { makeAccessLink } from '../../../src/actions/accounts/access-links.ts'
import { findUser } from '../../../src/store/users/users.ts'
import { signInAs } from '../../support/accounts/sign-in-as.ts'
import { campaignCallsOf, CAMPAIGNS_PATH } from '../../support/calls/campaign-calls.ts'
import { couponCallsOf, couponsPath, LISTS_PATH } from '../../support/calls/coupon-calls.ts'
import { segmentCallsOf, SEGMENTS_PATH } from '../../support/calls/segment-calls.ts'
import { SENDER, senderCallsOf, SENDERS_PATH } from '../../support/calls/sender-calls.ts'
import { parkRequests } from '../../support/calls/parked-requests.ts'
import { newTemplate, TemplateCaller, TEMPLATES } from '../../support/calls/template-calls.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import { deliveryCallsOf } from '../../support/delivery/delivery-calls.ts'
import { fillRun } from '../../support/delivery/filled-run.ts'
import type { TestServer } from '../../support/server.ts'

/** Operations that change something and have no entry. */
export const NOT_RECORDED: Readonly<Record<string, string>> = {
  track_events: 'ingested: has receipts',
  track_user: 'ingested: has receipts',
  import_people: 'ingested: Get import shows who sent it',
  report_audience: 'ingested: has receipts',
  report_message_events: 'ingested: has receipts',
  report_bounce: 'ingested: has evidence in the suppression',
  receive_feedback: 'ingested: has evidence in the suppression',
  update_preferences: 'ingested: each change has a proof of consent',
  test_campaign: 'stores nothing',
  start_recount: 'changes no number: Get recount shows who began it',
  sign_in: 'of no workspace: sessions are listed',
  sign_out: 'of no workspace: sessions are listed',
  end_session: 'of no workspace: sessions are listed',
  join_workspace: 'of no workspace: the invitation was recorded',
  accept_access_link: 'of no workspace: the link was recorded',
  change_password: 'of no workspace: of the person alone',
  begin_totp: 'of no workspace: of the person alone',
  confirm_totp: 'of no workspace: of the person alone',
  remove_totp: 'of no workspace: of the person alone',
}

/** Operations of which a repeat changes something again. */
export const CHANGES_AGAIN: Readonly<Record<string, string>> = {
  generate_key: 'makes another key, because no answer with a key is kept',
  invite_person: 'makes another link, because no answer with a link is kept',
  reset_password: 'makes another link, because no answer with a link is kept',
}

export interface ChangeRequest {
  readonly method: string
  readonly path: string
  readonly body?: unknown
}

/** Makes what the operation needs, and returns a request that changes it. */
type Prepare = (server: TestServer) => Promise<ChangeRequest> | ChangeRequest

const campaignPath = async (server: TestServer, verb = '') => {
  return `${CAMPAIGNS_PATH}/${await campaignCallsOf(server).make()}${verb}`
}
const deliveredPath = async (server: TestServer, verb: string, ...verbs: readonly ('start' | 'pause')[]) => {
  const calls = deliveryCallsOf(server)
  const id = await calls.makeDelivered()
  for (const earlier of verbs) await calls.put(id, earlier)
  return `${CAMPAIGNS_PATH}/${id}/${verb}`
}
let lists = 0
const listPath = async (server: TestServer, verb = '') => {
  const names = { name: `Audited ${++lists}`, label: `audited-${lists}` }
  return `${LISTS_PATH}/${await couponCallsOf(server).make(names)}${verb}`
}
const segmentPath = async (server: TestServer) => {
  return `${SEGMENTS_PATH}/${await segmentCallsOf(server).make({ attribute: 'plan', operator: 'exists' })}`
}
const senderPath = async (server: TestServer) => {
  return `${SENDERS_PATH}/${(await senderCallsOf(server).create(SENDER)).body.sender_id}`
}
const templateId = (server: TestServer) => new TemplateCaller(server, server.workspace).add()
const workspacePath = ({ workspace }: TestServer, rest = '') => `/v1/workspaces/${workspace.id}${rest}`
const categoryPath = async (server: TestServer, name: string) => {
  const person = await signInAs(server, 'owner')
  await server.call('POST', workspacePath(server, '/categories'), { person, body: { name } })
  return workspacePath(server, `/categories/${name}`)
}
const personPath = async (server: TestServer) => {
  const { personId } = await signInAs(server, 'analyst', server.workspace.id)
  return workspacePath(server, `/people/${personId}`)
}
const parkedPath = async (server: TestServer) => {
  const [position] = await parkRequests(server, {
    body: { type: 'event', customer_id: 'p', actions: [{ action: 'A' }] },
  })
  return `/v1/event/${server.workspace.id}/parked/${position}`
}
const suppressionPath = '/core-services/v1/suppressions'

export const CHANGE_REQUESTS: Readonly<Record<string, Prepare>> = {
  create_template: () => ({ method: 'POST', path: TEMPLATES, body: newTemplate() }),
  update_template: async (server) => {
    const body = { external_template_id: await templateId(server), updated_by: 'ben' }
    return { method: 'PUT', path: TEMPLATES, body: { ...body, basic_details: { subject: 'Changed' } } }
  },
  archive_template: async (server) => ({ method: 'PUT', path: `${TEMPLATES}/${await templateId(server)}/archive` }),
  restore_template: async (server) => {
    const id = await templateId(server)
    await new TemplateCaller(server, server.workspace).archive(id)
    return { method: 'PUT', path: `${TEMPLATES}/${id}/restore` }
  },
  delete_template: async (server) => ({ method: 'DELETE', path: `${TEMPLATES}/${await templateId(server)}` }),
  create_coupon_list: () => {
    const names = { name: `Created ${++lists}`, label: `created-${lists}` }
    return { method: 'POST', path: LISTS_PATH, body: { ...names, expires_at: '2199-12-31', created_by: 'anna' } }
  },
  update_coupon_list: async (server) => {
    return { method: 'PATCH', path: await listPath(server), body: { expires_at: '2199-01-01' } }
  },
  activate_coupon_list: async (server) => {
    return { method: 'PUT', path: await listPath(server, '/activate'), body: { expires_at: '2199-02-01' } }
  },
  archive_coupon_list: async (server) => ({ method: 'PUT', path: await listPath(server, '/archive') }),
  add_coupons: async (server) => {
    return { method: 'POST', path: await listPath(server, '/coupons'), body: { coupons: ['A1', 'B2'] } }
  },
  delete_coupons: async (server) => {
    const id = await couponCallsOf(server).make({ name: `Emptied ${++lists}`, label: `emptied-${lists}` })
    await couponCallsOf(server).addJson(id, ['A1', 'B2'])
    return { method: 'DELETE', path: couponsPath(id), body: { coupons: ['A1', 'none'] } }
  },
  create_campaign: () => {
    const body = { name: 'Created', platforms: ['EMAIL'], conversion_goals: [], created_by: 'anna' }
    return { method: 'POST', path: CAMPAIGNS_PATH, body }
  },
  update_campaign: async (server) => {
    return { method: 'PATCH', path: await campaignPath(server), body: { name: 'Changed', updated_by: 'ben' } }
  },
  archive_campaign: async (server) => ({ method: 'PUT', path: await campaignPath(server, '/archive') }),
  restore_campaign: async (server) => {
    const path = await campaignPath(server)
    await campaignCallsOf(server).call('PUT', `${path}/archive`)
    return { method: 'PUT', path: `${path}/restore` }
  },
  delete_campaign: async (server) => ({ method: 'DELETE', path: await campaignPath(server) }),
  start_campaign: async (server) => ({ method: 'PUT', path: await deliveredPath(server, 'start') }),
  pause_campaign: async (server) => ({ method: 'PUT', path: await deliveredPath(server, 'pause', 'start') }),
  resume_campaign: async (server) => ({ method: 'PUT', path: await deliveredPath(server, 'resume', 'start', 'pause') }),
  cancel_campaign: async (server) => ({ method: 'PUT', path: await deliveredPath(server, 'cancel') }),
  decide_in_doubt: async (server) => {
    const { path } = await withDoubt(server)
    return { method: 'POST', path, body: { action: 'send_again' } }
  },
  create_sender: () => ({ method: 'POST', path: SENDERS_PATH, body: SENDER }),
  update_sender: async (server) => ({
    method: 'PATCH',
    path: await senderPath(server),
    body: { from_name: 'Changed' },
  }),
  delete_sender: async (server) => ({ method: 'DELETE', path: await senderPath(server) }),
  create_segment: () => {
    const where = { attribute: 'plan', operator: 'exists' }
    return { method: 'POST', path: SEGMENTS_PATH, body: { name: 'Created', where, created_by: 'anna' } }
  },
  update_segment: async (server) => ({ method: 'PATCH', path: await segmentPath(server), body: { name: 'Changed' } }),
  delete_segment: async (server) => ({ method: 'DELETE', path: await segmentPath(server) }),
  add_suppression: () => ({ method: 'POST', path: suppressionPath, body: { email: 'added@example.com' } }),
  remove_suppression: async (server) => {
    await server.call('POST', suppressionPath, { tile: 'reports', body: { email: 'removed@example.com' } })
    return { method: 'DELETE', path: `${suppressionPath}?email=removed@example.com` }
  },
  update_workspace: (server) => {
    return { method: 'PATCH', path: workspacePath(server), body: { settings: { clock_skew_seconds: 60 } } }
  },
  generate_key: (server) => {
    return { method: 'POST', path: workspacePath(server, '/keys/data'), body: { old_key_valid_hours: 24 } }
  },
  add_category: (server) => ({ method: 'POST', path: workspacePath(server, '/categories'), body: { name: 'Added' } }),
  update_category: async (server) => {
    return { method: 'PATCH', path: await categoryPath(server, 'Labelled'), body: { labels: { de: 'Beschriftet' } } }
  },
  remove_category: async (server) => ({ method: 'DELETE', path: await categoryPath(server, 'Removed') }),
  invite_person: (server) => {
    return {
      method: 'POST',
      path: workspacePath(server, '/people'),
      body: { email: 'new@example.com', role: 'analyst' },
    }
  },
  change_role: async (server) => {
    return { method: 'PATCH', path: await personPath(server), body: { role: 'developer' } }
  },
  remove_person: async (server) => ({ method: 'DELETE', path: await personPath(server) }),
  reset_password: async (server) => ({ method: 'POST', path: `${await personPath(server)}/reset` }),
  remove_invitation: async (server) => {
    const email = 'uninvited@example.com'
    const link = { kind: 'invitation', email, role: 'analyst', workspaceId: server.workspace.id } as const
    await server.database.write((store) => makeAccessLink(store, { ...link, now: Date.now() }))
    return { method: 'DELETE', path: workspacePath(server, `/invitations/${email}`) }
  },
  replay_parked: async (server) => ({ method: 'POST', path: `${await parkedPath(server)}/replay` }),
  drop_parked: async (server) => ({ method: 'DELETE', path: await parkedPath(server) }),
  erase_user: async (server) => {
    await trackingOf(server).apply({
      type: 'customer',
      customer_id: 'erased-1',
      attributes: { email: 'e1@example.com' },
    })
    return { method: 'DELETE', path: `/v1/customer/${server.workspace.id}?customer_id=erased-1` }
  },
}

/** A started campaign with two messages in doubt. */
export async function withDoubt(server: TestServer): Promise<{ readonly id: string; readonly path: string }> {
  const calls = deliveryCallsOf(server)
  const ids = ['doubt-1', 'doubt-2']
  await trackingOf(server).apply(...ids.map((customer_id) => ({ type: 'customer', customer_id, attributes: {} })))
  const id = await calls.makeDelivered()
  await calls.put(id, 'start')
  const { campaign } = await calls.storedOf(id)
  const messages = await Promise.all(
    ids.map(async (customerId) => {
      const user = await findUser(server.database, server.workspace.id, { name: CUSTOMER_ID, value: customerId })
      return { customerId, userId: user?.id ?? 0, state: 'in_doubt' } as const
    }),
  )
  await fillRun(server.database, { campaign, at: Date.now(), phase: 'sending', messages })
  return { id, path: `${CAMPAIGNS_PATH}/${id}/in-doubt` }
}
