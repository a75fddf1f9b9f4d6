// Checks the journey of a team through all five documented operations on its own data, and that a second workspace neither sees nor
// changes that data.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeEachStore } from '../support/stores.ts'
import { expectRefusal, startServer, until, type TestServer, type TestWorkspace } from '../support/server.ts'

const DATES = { start_date: '2026-11-01', end_date: '2026-11-30' }

describeEachStore('A journey', (kind) => {
  let server: TestServer
  let team: TestWorkspace
  let others: TestWorkspace

  beforeAll(async () => {
    server = await startServer(kind)
    team = server.workspace
    others = await server.makeWorkspace({ categories: ['News'] })
    await server.changeSettings(team, { categories: ['News', 'Offers'] })
  })
  afterAll(() => server.stop())

  const send = <Body>(as: TestWorkspace, method: string, path: string, body?: unknown, tile?: 'reports') => {
    return server.call<Body>(method, path, { as, ...(body !== undefined && { body }), ...(tile && { tile }) })
  }
  const preferences = (as: TestWorkspace, change: object) => {
    return send(as, 'PUT', '/v1.0/opt-in-management/user-preferences', { user_preferences: change })
  }
  let listId = ''
  let templateId = ''

  describe('through the five operations', () => {
    it('tracks a user and what they do, and reads both back', async () => {
      const attributes = { email: 'Anna@Example.com', plan: 'premium' }
      const user = { type: 'customer', customer_id: 'anna', attributes }
      expect((await send(team, 'POST', `/v1/customer/${team.id}`, user)).status).toBe(200)
      const actions = [{ action: 'Order Placed', attributes: { amount: 49.9 }, user_time: '2026-11-20T10:00:00Z' }]
      const tracked = await send<{ request_id: string }>(team, 'POST', `/v1/event/${team.id}`, {
        type: 'event',
        customer_id: 'anna',
        actions,
      })
      expect(tracked.status).toBe(200)
      await until('the events are processed', async () => {
        const path = `/v1/event/${team.id}/requests/${tracked.body.request_id}`
        return (await send<{ status: string }>(team, 'GET', path)).body.status === 'processed'
      })
      const found = await send(team, 'GET', `/v1/customer/${team.id}?email=anna@example.com`)
      expect(found.body).toMatchObject({ customer_id: 'anna', attributes, last_event_at: '2026-11-20T10:00:00.000Z' })
      const events = await send(team, 'GET', `/v1/event/${team.id}?customer_id=anna`)
      expect(events.body).toMatchObject({ data: [{ action: 'Order Placed', attributes: { amount: 49.9 } }] })
    })

    it('writes a template and searches it', async () => {
      const created = await send<{ external_template_id: string }>(team, 'POST', '/v1.0/custom-templates/email', {
        basic_details: { email_content: '<p>Hello</p>', subject: 'Hello', sender_name: 'Team' },
        meta_info: { template_id: 't1', template_name: 'Welcome', template_version: '1', created_by: 'me@example.com' },
      })
      templateId = created.body.external_template_id
      const search = { page: 1, entries: 15, template_name: 'Welcome', is_count_required: true }
      const found = await send(team, 'POST', '/v1.0/custom-templates/email/search', search)
      expect(found.body).toMatchObject({ data: [{ external_template_id: templateId, version: 1 }], total_count: 1 })
    })

    it('creates a coupon list, adds codes and fetches it', async () => {
      const list = { name: 'Summer', label: 'summer', expires_at: '2099-12-31', created_by: 'me' }
      const created = await send<{ _id: string }>(team, 'POST', '/v1/coupon-list', list, 'reports')
      listId = created.body['_id']
      const added = await send(
        team,
        'POST',
        `/v1/coupon-list/${listId}/coupons`,
        { coupons: ['A', 'B', 'A'] },
        'reports',
      )
      expect(added.body).toMatchObject({ added: 2, duplicates: 1 })
      const fetched = await send(team, 'GET', `/v1/coupon-list/${listId}`, undefined, 'reports')
      expect(fetched.body).toMatchObject({ status: 'ACTIVE', total_coupons: 2, available_coupons: 2 })
    })

    it('updates preferences by address, visible at once and with a proof', async () => {
      const change = {
        email_id: 'anna@example.com',
        opt_in_status: 'OPTED_IN',
        categories: { News: true, Offers: false },
      }
      expect((await preferences(team, change)).status).toBe(200)
      const path = '/v1.0/opt-in-management/user-preferences'
      const expected = { opt_in_status: 'OPTED_IN', categories: { News: true, Offers: false } }
      expect((await send(team, 'GET', `${path}?customer_id=anna`)).body).toMatchObject({ data: [expected] })
      const proofs = await send(team, 'GET', `${path}/history?customer_id=anna`)
      expect(proofs.body).toMatchObject({ data: [{ by: 'key:data', after: expected }] })
    })

    it('queries campaign statistics', async () => {
      const question = { request_id: 'q1', attribution_type: 'CLICK_THROUGH', metric_type: 'UNIQUE', ...DATES }
      const answer = await send(team, 'POST', '/core-services/v1/campaign-stats', question, 'reports')
      expect(answer.status).toBe(200)
      expect(answer.body).toMatchObject({ response_id: 'q1', total_campaigns: 0, current_page: 1, data: {} })
    })
  })

  describe('beside another workspace', () => {
    it('cannot be read by it', async () => {
      expectRefusal(await send(others, 'GET', `/v1/customer/${others.id}?customer_id=anna`), 404, 'not_found')
      expectRefusal(await send(others, 'GET', `/v1/customer/${team.id}?customer_id=anna`), 403, 'forbidden', [
        'path.Workspace_ID',
      ])
      const events = await send(others, 'GET', `/v1/event/${others.id}?customer_id=anna`)
      expect(events.body).toEqual({ data: [], next_before: null })
      expectRefusal(await send(others, 'GET', `/v1/coupon-list/${listId}`, undefined, 'reports'), 404, 'not_found')
      const search = await send(others, 'POST', '/v1.0/custom-templates/email/search', { page: 1, entries: 15 })
      expect(search.body).toEqual({ data: [] })
    })

    it('cannot be changed by it', async () => {
      expectRefusal(await preferences(others, { customer_id: 'anna', opt_in_status: 'OPTED_OUT' }), 404, 'not_found')
      const archived = await send(others, 'PUT', `/v1/coupon-list/${listId}/archive`, undefined, 'reports')
      expectRefusal(archived, 404, 'not_found')
      const update = { external_template_id: templateId, updated_by: 'x', basic_details: { subject: 'Changed' } }
      const updated = await send(others, 'PUT', '/v1.0/custom-templates/email', update)
      expectRefusal(updated, 404, 'not_found', ['external_template_id'])
      const current = await send(team, 'GET', '/v1.0/opt-in-management/user-preferences?customer_id=anna')
      expect(current.body).toMatchObject({ data: [{ opt_in_status: 'OPTED_IN' }] })
    })

    it('does not share ids with it: there, the same customer id is another user', async () => {
      const user = { type: 'customer', customer_id: 'anna', attributes: { plan: 'free' } }
      await send(others, 'POST', `/v1/customer/${others.id}`, user)
      const found = await until('the other user is there', async () => {
        const answer = await send(others, 'GET', `/v1/customer/${others.id}?customer_id=anna`)
        return answer.status === 200 && answer
      })
      expect(found.body).toMatchObject({ attributes: { plan: 'free' } })
      const own = await send(team, 'GET', `/v1/customer/${team.id}?customer_id=anna`)
      expect(own.body).toMatchObject({ attributes: { plan: 'premium' } })
    })
  })
})
