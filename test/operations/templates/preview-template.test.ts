// Previews of templates that are not stored, through real HTTP and the render thread, on every store.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DRAFT_FAULTS_MAX } from '../../../src/delivery/content/render-limits.ts'
import { couponCallsOf } from '../../support/calls/coupon-calls.ts'
import { ROOMY, TemplateCaller, TEMPLATES } from '../../support/calls/template-calls.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import { expectRefusal, startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

/** Printed at the end of a mail that has no unsubscribe link of its own. */
const UNSUBSCRIBE = /<p lang="en"[^>]*><a href="https:\/\/preview\.invalid\/u\/[^"]+">Unsubscribe<\/a><\/p>$/

describeEachStore('Preview email template (preview_template)', (kind) => {
  let server: TestServer
  let workspace: TestWorkspace
  let templates: TemplateCaller

  beforeAll(async () => {
    server = await startServer(kind, {}, { withDelivery: false })
    workspace = await server.makeWorkspace(ROOMY)
    templates = new TemplateCaller(server, workspace)
  })
  afterAll(() => server.stop())

  const content = (email_content: string, more: object = {}) => ({ basic_details: { email_content }, ...more })
  const faultsOf = async (body: object) => {
    const answer = await templates.preview(body)
    expect(answer.status).toBe(200)
    return answer.body.faults
  }
  const faultOf = async (body: object) => {
    const [fault, ...others] = await faultsOf(body)
    expect(others).toEqual([])
    return fault
  }

  it('shows what a template becomes for somebody with these attributes', async () => {
    const basic_details = {
      subject: 'Hi {{ first_name }}',
      sender_name: 'Shop {{ city | default: "Bonn" }}',
      email_content:
        '<p>{{ first_name }} {{ order }}</p><a href="https://shop.example/?a=1&amp;n={{ first_name }}">{{Coupons.CouponListName[Spring]}}</a>',
      attachments: [{ name: 'a', url: 'https://files.example.com/a' }],
      thumbnail_url: '',
    }
    await couponCallsOf(server).make({ label: 'Spring' }, workspace)
    const body = `{"basic_details":${JSON.stringify(basic_details)},"attributes":{"first_name":"A<b>","order":12345678901234567890}}`
    const { status, body: preview } = await templates.preview(body)
    expect(status).toBe(200)
    expect(preview).toMatchObject({ subject: 'Hi A<b>', sender_name: 'Shop Bonn', faults: [] })
    const html =
      '<p>A&lt;b&gt; 12345678901234567890</p><a href="https://shop.example/?a=1&amp;n=A&lt;b&gt;">TEST-CODE</a>'
    expect(preview.html?.slice(0, html.length)).toBe(html)
    expect(preview.html).toMatch(UNSUBSCRIBE)
    expect(preview.text).toContain('A<b> 12345678901234567890')
    const coded = await templates.preview({ basic_details, attributes: { first_name: 'A' }, coupon_code: 'SAVE-10' })
    expect(coded.body.html).toContain('>SAVE-10</a>')
  })

  it('shows what it becomes for a person', async () => {
    const user = { type: 'customer', customer_id: 'ada', attributes: { first_name: 'Ada', locale: 'de' } }
    await trackingOf(server, workspace).apply(user)
    const { body } = await templates.preview(content('{{ first_name }}/{{ customer_id }}', { customer_id: 'ada' }))
    expect(body.html).toMatch(/^Ada\/ada<p lang="de"/)
    expect(body.faults).toEqual([])
  })

  it('shows an empty template, and uses nothing of the workspace', async () => {
    const { body } = await templates.preview({ basic_details: {} })
    expect(body).toMatchObject({ subject: '', sender_name: '', faults: [] })
    expect(body.html).toMatch(UNSUBSCRIBE)
    expect((await templates.list({ archived: 'all' })).body.data).toEqual([])
  })

  it('renders the texts without faults, and names each fault with its place', async () => {
    const basic_details = {
      subject: 'Hi {{ name | nosuch }}',
      sender_name: 'The shop',
      email_content: '<p>\n  {% if a %}\n  {{ b }}\n</p>',
    }
    const { body } = await templates.preview({ basic_details })
    expect(body).toEqual({
      subject: null,
      sender_name: 'The shop',
      html: null,
      text: null,
      faults: [
        {
          field: 'basic_details.subject',
          line: 1,
          column: 4,
          kind: 'template',
          problem: expect.stringMatching(/nosuch/) as string,
        },
        {
          field: 'basic_details.email_content',
          line: 2,
          column: 3,
          kind: 'template',
          problem: expect.stringMatching(/not closed/) as string,
        },
      ],
    })
  })

  describe('places', () => {
    const missing = { field: 'basic_details.email_content', kind: 'value', problem: 'No value for x.' }
    const link = '<a href="https://shop.example/a/very/long/address?with=parameters">'

    const cases: [what: string, html: string, line: number, column: number][] = [
      ['on the first line', 'ab {{ x }}', 1, 4],
      ['behind links, which are replaced', `${link}\n${link}</a> {{ x }}</a>`, 2, link.length + 6],
      ['behind a link with line breaks', '<a href="https://shop.example/\n\nx"></a>{{ x }}', 3, 8],
      ['behind a coupon with line breaks', '{{ Coupons.CouponListName[\n"Spring"\n] }}{{ x }}', 3, 5],
      ['within an address, at its beginning', '\n<a href="https://shop.example/{{ x }}">', 2, 9],
      ['of an output that alone is rendered', '{% if y %}{{ x }}{% else %}\n{{ x }}{% endif %}', 2, 1],
      ['in characters of several units', '𝔸{{ x }}', 1, 3],
      ['before the end of the body', '<body>\r\n{{ x }}</body>', 2, 1],
      ['once for all turns of a loop', '{% for i in (1..3) %}{{ x }}{% endfor %}', 1, 22],
    ]
    it.each(cases)('%s', async (_what, html, line, column) => {
      expect(await faultOf(content(html))).toEqual({ ...missing, line, column })
    })

    it('of a tag that fails for this person', async () => {
      const html = `${link}x</a>\n <b>{% for i in (1..n) %}.{% endfor %}</b>`
      expect(await faultsOf(content(html, { attributes: { n: 3 } }))).toEqual([])
      expect(await faultOf(content(html, { attributes: { n: 1e9 } }))).toEqual({
        field: missing.field,
        line: 2,
        column: 5,
        kind: 'template',
        problem: 'The template cannot be rendered: memory alloc limit exceeded.',
      })
    })

    it('of coupon lists that do not exist or are not active', async () => {
      const html = 'a\n {{ Coupons.CouponListName[Nowhere] }} {{ Coupons.CouponListName[Nowhere] | upcase }}'
      const problem = 'needs coupons of "Nowhere": no coupon list has this label'
      const common = { field: missing.field, line: 2, kind: 'coupons', problem }
      expect(await faultsOf(content(html))).toEqual([
        { ...common, column: 5 },
        { ...common, column: 43 },
      ])
    })
  })

  it('prints nothing where a value is missing, and renders the rest', async () => {
    const { body } = await templates.preview(content('<p>Hello {{ first_name }}!</p>'))
    expect(body.html?.startsWith('<p>Hello !</p>')).toBe(true)
    expect(body.faults).toMatchObject([{ line: 1, column: 10, problem: 'No value for first_name.' }])
  })

  it('tells that a template takes too long or becomes too long, and renders the other texts', async () => {
    const endless = '\n{% for i in (1..100000) %}{% for j in (1..100000) %}{% assign x = i %}{% endfor %}{% endfor %}'
    const slow = await templates.preview({ basic_details: { subject: 'News', email_content: endless } })
    expect(slow.body).toMatchObject({ subject: 'News', html: null, text: null })
    expect(slow.body.faults).toMatchObject([
      { field: 'basic_details.email_content', line: 2, problem: 'Rendering the message took longer than 1 second.' },
    ])
    const long = `{% for i in (1..2000) %}${'x'.repeat(1_000)}{% endfor %}`
    expect(await faultOf(content(long))).toMatchObject({ problem: 'The message is longer than 1 MiB.' })
  })

  it('tells that a template takes too long where Liquid itself does not look at the clock', async () => {
    const list = `{% assign a = "${`${'x'.repeat(400)},`.repeat(2_000)}" | split: "," %}`
    const answer = await templates.preview(
      content(`${list}{{ a ${'| concat: a '.repeat(7)}${'| sort_natural '.repeat(3_000)}| size }}`),
    )
    const problem = 'Rendering the message took longer than 1 second.'
    expect(answer.body).toEqual({
      subject: null,
      sender_name: null,
      html: null,
      text: null,
      faults: [{ field: null, line: null, column: null, kind: 'template', problem }],
    })
  })

  it('names at most as many faults as it says', async () => {
    expect(await faultsOf(content('{{ x }}'.repeat(DRAFT_FAULTS_MAX + 1)))).toHaveLength(DRAFT_FAULTS_MAX)
  })

  it('refuses what cannot be previewed at all', async () => {
    expectRefusal(await templates.preview(content('', { customer_id: 'nobody' })), 404, 'not_found')
    const both = { customer_id: 'ada', attributes: { email: 'x' }, coupon_code: '', basic_detail: {} }
    expectRefusal(await templates.preview(both), 400, 'invalid_request', [
      'basic_details',
      'basic_detail',
      'attributes',
      'attributes.email',
      'coupon_code',
    ])
    expectRefusal(await templates.preview(content('x'.repeat(1024 * 1024))), 413, 'payload_too_large')
    expectRefusal(
      await server.call('POST', `${TEMPLATES}/preview`, { body: content(''), tile: 'reports' }),
      403,
      'forbidden',
    )
  })
})
