// The campaign of `npm run bench -- delivery`: a personalised template of 20 KB with ten links, sent to everybody with an address.
import type { NewWorkspace } from '../../src/actions/create-workspace.ts'

export const CONNECTIONS = 4
const TEMPLATE_BYTES = 20_000
const LINKS = 10
const PER_SECOND = 10_000
/** How often the run is looked at while its audience is frozen, and while it sends. */
const FREEZE_LOOK_MS = 50
const SEND_LOOK_MS = 500
const WATCH_MAX_MS = 3_600_000

export interface WatchedRun {
  readonly sent: number
  readonly frozenPerSecond: number
  /** People whose memberships were told to the log, with the search for duplicates before it. */
  readonly toldPerSecond: number
  readonly sentPerSecond: number
}

interface ShownRun {
  readonly state: string
  readonly audience: number
  readonly started_at: string
  readonly states: Readonly<Record<string, number>>
}

/** Makes sender, template and campaign, and starts it; returns the address of its runs. */
export async function startMailing(url: string, workspace: NewWorkspace, smtp: string): Promise<string> {
  const call = (method: string, path: string, body?: object) => {
    const credential = path.startsWith('/v1.0') ? workspace.dataKey : workspace.reportsKey
    return ask({ method, url: url + path, workspace, credential, body })
  }
  const [host, port] = smtp.split(':')
  const { sender_id } = await call('POST', '/core-services/v1/senders', {
    name: 'Bench',
    from_email: 'news@bench.example',
    from_name: 'The bench',
    smtp: { host, port: Number(port), security: 'none' },
    limits: { per_second: PER_SECOND, connections: CONNECTIONS },
  })
  const template = await call('POST', '/v1.0/custom-templates/email', {
    basic_details: { email_content: makeHtml(), subject: 'News for {{ first_name }} {{ last_name }}' },
    meta_info: { template_id: 'bench', template_name: 'Bench', template_version: '1', created_by: 'bench' },
  })
  const { campaign_id } = await call('POST', '/core-services/v1/campaigns', {
    name: 'Bench',
    platforms: ['EMAIL'],
    conversion_goals: [],
    created_by: 'bench',
    delivery: {
      sender_id,
      audience: { include: [{ attribute: 'email', operator: 'exists' }] },
      variations: [{ name: 'A', share: 100, external_template_id: template['external_template_id'] }],
    },
  })
  const path = `/core-services/v1/campaigns/${String(campaign_id)}`
  await call('PUT', `${path}/start`)
  return `${url}${path}/runs`
}

/** Follows the run until it is over. */
export async function watchRun(url: string, workspace: NewWorkspace, people: number): Promise<WatchedRun> {
  const deadline = Date.now() + WATCH_MAX_MS
  const question = { method: 'GET', url, workspace, credential: workspace.reportsKey }
  const untilRun = async (lookMs: number, isWanted: (run: ShownRun) => boolean): Promise<[ShownRun, number]> => {
    for (;;) {
      const { data } = (await ask(question)) as { data: readonly ShownRun[] }
      const [run] = data
      if (run && isWanted(run)) return [run, Date.now()]
      if (Date.now() > deadline) throw new Error(`the campaign is not over: ${JSON.stringify(run)}`)
      await new Promise((resolve) => setTimeout(resolve, lookMs))
    }
  }
  const [begun] = await untilRun(FREEZE_LOOK_MS, () => true)
  const [, frozenAt] = await untilRun(FREEZE_LOOK_MS, ({ audience }) => audience >= people)
  const [, toldAt] = await untilRun(FREEZE_LOOK_MS, ({ states }) => (states['queued'] ?? 0) < people)
  const [run, finishedAt] = await untilRun(SEND_LOOK_MS, ({ state }) => state === 'finished')
  const perSecond = (from: number, to: number) => people / ((to - from) / 1000)
  return {
    sent: run.states['sent'] ?? 0,
    frozenPerSecond: perSecond(Date.parse(begun.started_at), frozenAt),
    toldPerSecond: perSecond(frozenAt, toldAt),
    sentPerSecond: perSecond(toldAt, finishedAt),
  }
}

function makeHtml(): string {
  const links = Array.from({ length: LINKS }, (_, index) => {
    return `<p><a href="https://shop.example/spring/offer-${index}?from=mail">Offer ${index} in {{ city }}</a></p>`
  })
  const head = `<html><body><h1>Hello {{ first_name }} {{ last_name }}</h1>${links.join('\n')}`
  const foot = '<p><a href="{{ unsubscribe_url }}">Unsubscribe</a></p></body></html>'
  const line = '<p style="color:#333">Lorem ipsum dolor sit amet, consetetur sadipscing elitr, sed diam nonumy.</p>\n'
  return head + line.repeat(Math.ceil((TEMPLATE_BYTES - head.length - foot.length) / line.length)) + foot
}

interface Question {
  readonly method: string
  readonly url: string
  readonly workspace: NewWorkspace
  readonly credential: string
  readonly body?: object | undefined
}

async function ask({ method, url, workspace, credential, body }: Question): Promise<Record<string, unknown>> {
  const authorization = `Basic ${Buffer.from(`${workspace.id}:${credential}`).toString('base64')}`
  const headers = { authorization, 'svc-appkey': workspace.id, 'content-type': 'application/json' }
  const answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${url} answered ${answer.status}: ${text}`)
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}
