// What one person gets: values that are only data, missing values, links of the message, and the unsubscribe link.
import { describe, expect, it } from 'vitest'
import { isGenuine, readToken } from '../../../src/actions/links/link-token.ts'
import { ExactNumber } from '../../../src/core/json/exact-number.ts'
import { OpenedLetter } from '../../../src/delivery/content/opened-letter.ts'
import type { Letter, RenderJob } from '../../../src/delivery/content/render-job.ts'
import { renderMessage, renderParts } from '../../../src/delivery/content/render-message.ts'
import { jobOf, letterOf, LINKS_BASE, SENDER } from '../../support/delivery/letters.ts'

function partsOf(letter: Letter, changes: Partial<RenderJob> = {}) {
  const result = renderParts(new OpenedLetter(letter), jobOf(letter, changes))
  if (!result.isOk) throw new Error(result.problem)
  return result
}

/** The HTML before what is added at its end. */
function htmlOf(
  html: string,
  attributes: Readonly<Record<string, unknown>> = {},
  changes: Partial<RenderJob> = {},
): string {
  const letter = letterOf(`${html}<!--end-->`, { isTransactional: true, tracking: { opens: false, clicks: false } })
  return partsOf(letter, { attributes, ...changes }).html.replace('<!--end-->', '')
}

function failureOf(html: string, attributes: Readonly<Record<string, unknown>> = {}, subject = 'x') {
  const letter = letterOf(html, { text: { subject } })
  const result = renderMessage(new OpenedLetter(letter), jobOf(letter, { attributes }))
  return result.isOk ? undefined : result
}

describe('values in a message', () => {
  it.each([
    ['an attribute', '{{ first_name }}', { first_name: 'Ana' }, 'Ana'],
    ['a name with spaces', '{{ user["First Name"] }}', { 'First Name': 'Ana' }, 'Ana'],
    ['a nested attribute', '{{ address.city }}', { address: { city: 'Rio' } }, 'Rio'],
    ['the customer id', '{{ customer_id }}', {}, 'c-1'],
    ['the campaign', '{{ campaign.name }}', {}, 'Spring sale'],
    ['the system before an attribute of its name', '{{ customer_id }}', { customer_id: 'other' }, 'c-1'],
    [
      'a number with all its digits',
      '{{ n }}',
      { n: new ExactNumber('12345678901234567890.5') },
      '12345678901234567890.5',
    ],
    ['the size of an empty list', '{{ a | size }}', { a: [] }, '0'],
    ['zero and false', '{{ a }}{{ b }}', { a: 0, b: false }, '0false'],
    ['a list', '{% for x in a %}{{ x }},{% endfor %}', { a: [1, 2] }, '1,2,'],
    ['escaped', '{{ a }}', { a: `<b title="x" class='y'>&` }, '&lt;b title=&#34;x&#34; class=&#39;y&#39;&gt;&amp;'],
    ['escaped once by a filter', '{{ a | escape }}', { a: '<' }, '&lt;'],
    ['line breaks', '{{ a | newline_to_br }}', { a: 'x<\ny' }, 'x&lt;<br />\ny'],
    ['raw', '{{ a | raw }}', { a: '<b>' }, '<b>'],
    [
      'never evaluated again',
      '{{ a }}{{ b | raw }}',
      { a: '{{ customer_id }}', b: '{% svc_end %}' },
      '{{ customer_id }}{% svc_end %}',
    ],
    ['nothing inherited', '{{ a.constructor | default: "-" }}{{ toString | default: "-" }}', { a: {} }, '--'],
    ['a default', '{{ first_name | default: "friend" }}', {}, 'friend'],
  ] as const)('%s', (_case, html, attributes, expected) => {
    expect(htmlOf(html, attributes)).toBe(expected)
  })

  it('prints the same coupon in every text', () => {
    const letter = letterOf('<p>{{Coupons.CouponListName[SPRING]}} {{Coupons.CouponListName["SPRING"]}}</p>', {
      text: { subject: '{{Coupons.CouponListName[SPRING]}}' },
    })
    const { subject, html, text } = partsOf(letter, { coupons: { SPRING: 'A<1' } })
    expect([subject, html.includes('<p>A&lt;1 A&lt;1</p>'), text.startsWith('A<1 A<1')]).toEqual(['A<1', true, true])
  })

  it('does not escape the subject and the sender name, and turns line breaks into spaces', () => {
    const letter = letterOf('x', { text: { subject: 'Hi {{ a }}', senderName: '{{ a }}' } })
    const { subject, headers } = partsOf(letter, { attributes: { a: 'A & B\r\nBcc: x@y.example' } })
    expect(subject).toBe('Hi A & B Bcc: x@y.example')
    expect(headers[0]).toEqual(['From', 'A & B Bcc: x@y.example <news@shop.example>'])
  })

  it('takes the name of the sender if the template has none', () => {
    expect(partsOf(letterOf('x')).headers[0]).toEqual(['From', 'The Shop <news@shop.example>'])
  })

  it('marks a test in the subject', () => {
    expect(partsOf(letterOf('x'), { isTest: true }).subject).toBe('[Test] News')
  })
})

describe('missing values', () => {
  it.each([
    ['absent', '{{ a }}', {}, ['a']],
    ['null', '{{ a }}', { a: null }, ['a']],
    ['empty text', '{{ a }}', { a: '' }, ['a']],
    ['an empty list', '{{ a }}', { a: [] }, ['a']],
    ['absent in front of a filter', '{{ a | append: "!" }}', {}, ['a']],
    ['absent in front of arithmetic', '{{ a | times: 2 }}', {}, ['a']],
    ['an empty list in front of a filter that makes text', '{{ a | join: "," | append: "!" }}', { a: [] }, ['a']],
    ['the size of an empty list', '{{ a | size }}', { a: [] }, undefined],
    ['the size of an absent list', '{{ a | size }}', {}, undefined],
    ['the sum of an empty list', '{{ a | sum }}', { a: [] }, undefined],
    ['a number made of an attribute', '{{ a | times: 0 }}', { a: 3 }, undefined],
    ['emptied by a filter', '{{ a | remove: "x" }}', { a: 'x' }, ['a']],
    ['a part of an attribute', '{{ user["First Name"] }}{{ a.b }}', { a: {} }, ['user["First Name"]', 'a.b']],
    ['a coupon', '{{Coupons.CouponListName[X]}}', {}, ['Coupons.CouponListName[X]']],
    ['in the address of a link', '<a href="https://a.example/{{ a }}">', {}, ['a']],
    ['a default', '{{ a | default: "" }}', {}, undefined],
    ['a branch that is not rendered', '{% if a %}{{ a }}{% endif %}', {}, undefined],
    ['a loop without turns', '{% for x in a %}{{ x.b }}{% endfor %}', {}, undefined],
    ['a comment', '{% comment %}{{ a }}{% endcomment %}', {}, undefined],
  ] as const)('%s', (_case, html, attributes, expected) => {
    expect(failureOf(html, attributes)?.missing).toEqual(expected)
  })

  it('names what is missing in all texts, once', () => {
    expect(failureOf('{{ a }}{{ b }}', {}, '{{ c }}{{ a }}')).toEqual({
      isOk: false,
      problem: 'No value for c, a, b.',
      missing: ['c', 'a', 'b'],
    })
  })
})

describe('links of a message', () => {
  const shared = letterOf('<body><a href="https://a.example/?x=1&amp;y=2">A</a></body>')

  function tokensOf(html: string, path: string): string[] {
    return [...html.matchAll(new RegExp(`${LINKS_BASE}/${path}/([\\w-]+)`, 'g'))].map(([, token]) => token as string)
  }

  it('leads through the server, with a genuine token of the message and the link', () => {
    const [token] = tokensOf(partsOf(shared).html, 'c')
    const read = readToken(token as string)
    expect(read).toMatchObject({ purpose: 'click', run: 7, message: 3, link: 1 })
    expect(read && isGenuine(read, shared.linkKey)).toBe(true)
  })

  it('shows the picture before the end of the body', () => {
    expect(partsOf(shared).html).toMatch(/<img src="[^"]+\/o\/[\w-]+" width="1" height="1" alt=""><\/body>$/)
  })

  it.each([
    ['a person who refused tracking', { allowsTracking: false }, {}],
    ['a campaign without tracking', {}, { tracking: { opens: false, clicks: false } }],
  ])('has plain links and no picture for %s', (_case, job, changes) => {
    const { html } = partsOf({ ...shared, ...changes }, job)
    expect(html).toContain('<a href="https://a.example/?x=1&amp;y=2">')
    expect([html.includes('<img'), html.includes('/c/')]).toEqual([false, false])
  })

  it('keeps a target that differs between people', () => {
    const letter = letterOf('<a href="https://a.example/?n={{ n | url_encode }}&amp;x">A</a>')
    const result = renderMessage(new OpenedLetter(letter), jobOf(letter, { attributes: { n: 'A & "B"' } }))
    expect(result).toMatchObject({ targets: { 1: 'https://a.example/?n=A+%26+%22B%22&x' } })
  })

  it('counts each target of a link in a loop, and equal ones once', () => {
    const letter = letterOf('{% for p in pages %}<a href="{{ p }}">A</a>{% endfor %}')
    const pages = ['https://a.example/1', 'https://a.example/2', 'https://a.example/1', 'mailto:a@b.example']
    const job = jobOf(letter, { attributes: { pages } })
    const result = renderMessage(new OpenedLetter(letter), job)
    expect(result).toMatchObject({ targets: { 1: pages[0], 100_001: pages[1] } })
    const { html } = partsOf(letter, { attributes: { pages } })
    expect(tokensOf(html, 'c').map((token) => readToken(token)?.link)).toEqual([1, 100_001, 1])
    expect(html).toContain('href="mailto:a@b.example"')
  })

  it.each(['javascript:alert(1)', ' JavaScript:alert(1)', 'data:text/html,x', 'java\nscript:x'])(
    'never lets a value become code: %s',
    (url) => {
      expect(htmlOf('<a href={{ url }}>A</a>', { url })).toBe('<a href="#">A</a>')
    },
  )

  it('keeps a value within the quotes of its link', () => {
    const html = htmlOf('<a href={{ url }}>A</a>', { url: '/x onclick="y"' })
    expect(html).toBe('<a href="/x onclick=&#34;y&#34;">A</a>')
  })

  it('leaves links to the public pages as they are', () => {
    const letter = letterOf(
      '<a href="{{ view_url }}">V</a><a href="{% if true %}{{ unsubscribe_url }}{% endif %}">U</a>',
    )
    const { html } = partsOf(letter)
    expect([tokensOf(html, 'v').length, tokensOf(html, 'u').length, tokensOf(html, 'c').length]).toEqual([1, 1, 0])
  })

  it('bears a slash at the end of the base', () => {
    expect(partsOf({ ...shared, linksBase: `${LINKS_BASE}/` }).html).toBe(partsOf(shared).html)
  })
})

describe('the unsubscribe link', () => {
  it.each([
    ['de-AT', 'Abmelden'],
    ['fr', 'Se désabonner'],
    ['pt_BR', 'Cancelar inscrição'],
    ['ar', 'إلغاء الاشتراك'],
    ['xx', 'Unsubscribe'],
    ['__proto__', 'Unsubscribe'],
    [null, 'Unsubscribe'],
  ])('is added at the end in the language of %s', (locale, words) => {
    const { html, text } = partsOf(letterOf('<body>x</body>'), { locale })
    expect(html).toMatch(new RegExp(`^<body>x<p [^>]+><a href="[^"]+/u/[^"]+">${words}</a></p><img [^>]+></body>$`))
    expect(text).toMatch(new RegExp(`^x\n\n${words} <${LINKS_BASE}/u/[\\w-]+>\n$`))
  })

  it('is not added if the template has one', () => {
    const { html } = partsOf(letterOf('<a href="{{ unsubscribe_url }}">Stop</a>'))
    expect(html.match(/\/u\//g)).toHaveLength(1)
  })

  it('is added if the template has one in a branch that was not rendered', () => {
    const { html } = partsOf(letterOf('{% if a %}<a href="{{ unsubscribe_url }}">Stop</a>{% endif %}'))
    expect(html).toContain('>Unsubscribe</a>')
  })

  it('stands neither in the body nor in the headers of a transactional message', () => {
    const { html, headers } = partsOf(letterOf('x', { isTransactional: true }))
    expect(html).not.toContain('/u/')
    expect(headers.map(([name]) => name).filter((name) => name.startsWith('List-'))).toEqual(['List-Id'])
  })
})

describe('the envelope', () => {
  it.each([
    ['with a domain for bounces', SENDER, /^b\+[\w-]+@bounces\.shop\.example$/],
    ['without one', { ...SENDER, returnPathDomain: null }, /^news@shop\.example$/],
  ])('%s', (_case, sender, expected) => {
    const letter = letterOf('x', { sender })
    const result = renderMessage(new OpenedLetter(letter), jobOf(letter))
    expect(result.isOk && result.envelopeFrom).toMatch(expected)
  })

  it('returns bounces with a token of the message', () => {
    const letter = letterOf('x')
    const result = renderMessage(new OpenedLetter(letter), jobOf(letter))
    const [, token = ''] = (result.isOk && /^b\+([\w-]+)@/.exec(result.envelopeFrom)) || []
    expect(result).toMatchObject({ envid: token })
    expect(readToken(token)).toMatchObject({ purpose: 'bounce', run: 7, message: 3 })
  })

  it.each([
    ['ana@bücher.example', 'ana@xn--bcher-kva.example', false],
    ['jörg@people.example', 'jörg@people.example', true],
    ['a,b@people.example', '"a,b"@people.example', false],
    ['a"b>@people.example', String.raw`"a\"b>"@people.example`, false],
    ['"a b"@people.example', '"a b"@people.example', false],
  ])('has the address of %s', (to, address, usesUtf8) => {
    const letter = letterOf('x')
    const result = renderMessage(new OpenedLetter(letter), jobOf(letter, { to }))
    expect(result).toMatchObject({ envelopeTo: address, usesUtf8 })
  })
})
