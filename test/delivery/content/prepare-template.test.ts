// How a template is read once: links as a browser reads them, faults with their places, and what it needs.
import { describe, expect, it } from 'vitest'
import {
  prepareDraft,
  prepareTemplate,
  type TemplateText,
} from '../../../src/delivery/content/template/prepare-template.ts'
import { originalOffset, placeAt, replaceParts } from '../../../src/delivery/content/template/text-place.ts'

function prepare(html: string, others: Partial<TemplateText> = {}) {
  return prepareTemplate({ html, subject: 'News', senderName: '', ...others })
}

function urlsOf(html: string): string[] {
  return prepare(html).links.map(({ url }) => url)
}

describe('links of a template', () => {
  it.each([
    ['double quotes', '<a href="https://a.example/x">', ['https://a.example/x']],
    ['single quotes', "<a href='https://a.example/x'>", ['https://a.example/x']],
    ['no quotes', '<a href=https://a.example/x>', ['https://a.example/x']],
    ['capitals and spaces', '<A\n HREF = "https://a.example/x" >', ['https://a.example/x']],
    ['&amp; is &', '<a href="https://a.example/?a=1&amp;b=2">', ['https://a.example/?a=1&b=2']],
    ['a bare & stays', '<a href="https://a.example/?a=1&copy=2">', ['https://a.example/?a=1&copy=2']],
    ['a character reference', '<a href="https&#58;//a.example/x">', ['https://a.example/x']],
    ['fragments are kept', '<a href="https://a.example/x#part">', ['https://a.example/x#part']],
    ['outer spaces and line breaks', '<a href=" https://a.example\n/x ">', ['https://a.example/x']],
    ['other alphabets in ASCII', '<a href="https://bücher.example/ü">', ['https://xn--bcher-kva.example/%C3%BC']],
    ['an area', '<area href="https://a.example/x">', ['https://a.example/x']],
    ['equal links once', '<a href="https://a.example">1</a><a href="https://a.example">2</a>', ['https://a.example']],
    ['a relative link', '<a href="/x">', []],
    ['a link without scheme', '<a href="//a.example/x">', []],
    ['mailto', '<a href="mailto:a@b.example">', []],
    ['tel', '<a href="tel:+491234">', []],
    ['a part of the page', '<a href="#top">', []],
    ['an empty link', '<a href="">', []],
    ['a comment', '<!-- <a href="https://a.example/x"> -->', []],
    ['a script', '<script>"<a href=\'https://a.example/x\'>"</script>', []],
    ['another element', '<link href="https://a.example/x">', []],
    ['another attribute', '<a data-href="https://a.example/x">', []],
    ['the system: unsubscribe', '<a href="{{ unsubscribe_url }}">', []],
    ['the system: preferences', '<a href="{{preferences_url}}">', []],
    ['the system: view', '<a href="{{- view_url -}}">', []],
    ['raw', '{% raw %}<a href="https://a.example/x">{% endraw %}', []],
  ] as const)('%s', (_case, html, expected) => {
    expect(urlsOf(html)).toEqual(expected)
  })

  it('keeps the Liquid of a link that differs between people, also with quotes within quotes', () => {
    const { links, faults } = prepare('<a href="https://a.example/?n={{ user["First Name"] }}&amp;x=1">')
    expect(links).toEqual([{ number: 1, url: 'https://a.example/?n={{ user["First Name"] }}&x=1', isPersonal: true }])
    expect(faults).toEqual([])
  })

  it('finds both links of an attribute in two branches', () => {
    const html = '<a {% if x %}href="https://a.example/1"{% else %}href="https://a.example/2"{% endif %}>'
    expect(urlsOf(html)).toEqual(['https://a.example/1', 'https://a.example/2'])
  })

  it('numbers links from the first number', () => {
    const { links } = prepare('<a href="https://a.example/1"><a href="https://a.example/2">', { firstLink: 5 })
    expect(links.map(({ number }) => number)).toEqual([5, 6])
  })

  it('changes nothing but the addresses, and marks the end of the body', () => {
    const html = '<P  Class=x>&nbsp;<a  HREF=https://a.example/x >é</a><BR/></body ><!-- </body> --></html>'
    expect(prepare(html).html).toBe(
      '<P  Class=x>&nbsp;<a  HREF="{% svc_link 1 %}" >é</a><BR/>{% svc_end %}</body ><!-- </body> --></html>',
    )
  })

  it('marks the end of a document without a body at its end', () => {
    expect(prepare('<p>x').html).toBe('<p>x{% svc_end %}')
  })
})

describe('what a template needs', () => {
  it('names coupon lists by label, with or without quotes, in every text', () => {
    const { coupons } = prepare('{{Coupons.CouponListName[SUMMER-10]}} {{ Coupons.CouponListName["B"] }}', {
      subject: "{{ Coupons.CouponListName['C'] }}{{Coupons.CouponListName[B]}}",
    })
    expect(coupons).toEqual(['C', 'B', 'SUMMER-10'])
  })

  it('names variables without a default, but none that every message has', () => {
    const { variables } = prepare(
      '{{ a }}{{ b | default: "x" }}{{ user["First Name"] | upcase }}{{ unsubscribe_url }}{{ customer_id }}{{ campaign.name }}{{ "text" }}',
      { subject: '{{ c }}{{ a }}' },
    )
    expect(variables).toEqual(['c', 'a', 'user["First Name"]'])
  })

  it.each([
    ['<a href="{{ unsubscribe_url }}">', true],
    ['{% if unsubscribe_url %}x{% endif %}', true],
    ['unsubscribe_url', false],
    ['{% comment %}{% endcomment %}', false],
  ])('sees whether it has an unsubscribe link: %s', (html, expected) => {
    expect(prepare(html).hasUnsubscribeLink).toBe(expected)
  })
})

describe('faults of a template', () => {
  it.each([
    ['an output that does not end', 'a\n b {{ x', 2, 4],
    ['an unknown filter', '<p>\n  {{ x | shout }}', 2, 3],
    ['an unknown tag', '{% shout %}', 1, 1],
    ['a block that does not end', 'x{% if a %}', 1, 2],
    ['a tag that reads files', '{% include "/etc/passwd" %}', 1, 1],
    ['a tag that prints without escaping', '{% echo x %}', 1, 1],
    ['a filter that evaluates a value', '{{ a | where_exp: "x", b }}', 1, 1],
    ['a tag of our own', '{% svc_end %}', 1, 1],
  ])('%s', (_case, html, line, column) => {
    expect(prepare(html).faults).toMatchObject([{ field: 'email_content', line, column }])
  })

  it('names the faults of all texts at once, and several of one text', () => {
    const { faults } = prepare('{{ a | one }}\n{{ b | two }}', { subject: '{{', senderName: '{% x %}' })
    expect(faults.map(({ field, line, column }) => [field, line, column])).toEqual([
      ['subject', 1, 1],
      ['sender_name', 1, 1],
      ['email_content', 1, 1],
      ['email_content', 2, 1],
    ])
    expect(faults.at(-1)?.problem).toBe('undefined filter: two')
  })

  it('does not report the rest of a block whose beginning is wrong', () => {
    expect(prepare('{% if a | %}x{% else %}y{% endif %}{{ b | two }}').faults.length).toBeLessThanOrEqual(2)
  })

  it('counts places in the original text after coupons', () => {
    expect(prepare('{{Coupons.CouponListName[A]}}{{ x | no }}').faults).toMatchObject([{ line: 1, column: 30 }])
  })
})

describe('a template while it is written', () => {
  const link = '<a href="https://a.example/x">'

  it('is the same, if it has no faults', () => {
    const text = { html: `${link}{{ a }}</a>`, subject: '{{ b }}', senderName: '' }
    expect(prepareDraft(text).template).toEqual(prepareTemplate(text))
  })

  it('has no text where there are faults', () => {
    const { template } = prepareDraft({ html: '{{ a', subject: '{{ b }}', senderName: '{% nosuch %}' })
    expect(template).toMatchObject({ html: '', subject: '{{ b }}', senderName: '' })
    expect(template.faults.map(({ field }) => field)).toEqual(['sender_name', 'email_content'])
  })

  it('tells where each coupon of a list is printed', () => {
    const html = `${link}\n{{ Coupons.CouponListName[A] }}{% if Coupons.CouponListName["B"] %}{% endif %}`
    const { couponUses, placeOf } = prepareDraft({ html, subject: '{{Coupons.CouponListName[A]}}', senderName: '' })
    const places = couponUses.map(({ label, field, at }) => ({ label, field, ...placeOf(field, at) }))
    expect(places).toMatchObject([
      { label: 'A', field: 'subject', line: 1, column: 3 },
      { label: 'A', field: 'email_content' },
      { label: 'B', field: 'email_content' },
    ])
  })

  it('names the places of faults behind coupons with line breaks', () => {
    const { faults } = prepareTemplate({
      html: '{{ Coupons.CouponListName[\nA\n] }} {{ x | nosuch }}',
      subject: '',
      senderName: '',
    })
    expect(faults).toMatchObject([{ line: 3, column: 6 }])
  })
})

describe('places in a text', () => {
  const replacements = [
    { begin: 2, end: 4, text: 'xyz' },
    { begin: 6, end: 6, text: '++' },
    { begin: 6, end: 8, text: '' },
  ]

  it('are found again after parts were replaced', () => {
    expect(replaceParts('abcdefghij', replacements)).toBe('abxyzef++ij')
    const originals = Array.from({ length: 11 }, (_, offset) => originalOffset(offset, replacements))
    expect(originals).toEqual([0, 1, 2, 2, 2, 4, 5, 6, 6, 8, 9])
  })

  it.each([
    ['', 0, 1, 1],
    ['ab', 2, 1, 3],
    ['a\nb', 1, 1, 2],
    ['a\nb', 2, 2, 1],
    ['\n\n', 2, 3, 1],
    ['\r\nb', 3, 2, 2],
  ])('of %j at %i are line %i, column %i', (text, offset, line, column) => {
    expect(placeAt(text, offset)).toEqual({ line, column })
  })
})
