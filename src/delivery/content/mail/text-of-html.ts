// The plain text of a message, made from its HTML: what a person would read, with the addresses of links and a line for each block.
import { Parser } from 'htmlparser2'

const BLOCKS: ReadonlySet<string> = new Set(
  `address article aside blockquote body caption center dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header
  hr li main nav ol p pre section table tbody tfoot thead tr ul`.split(/\s+/),
)
/** An empty line stands before and after these. */
const PARAGRAPHS: ReadonlySet<string> = new Set('blockquote dl figure h1 h2 h3 h4 h5 h6 ol p pre table ul'.split(' '))
const CELLS: ReadonlySet<string> = new Set(['td', 'th'])
const UNREAD: ReadonlySet<string> = new Set(
  'head iframe math noembed noframes object script select style svg template textarea title video'.split(' '),
)
/** Such as the preview text that mail programs show beside the subject. */
const HIDDEN = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all)/i
const VOID: ReadonlySet<string> = new Set('area base br col embed hr img input link meta source track wbr'.split(' '))
const RULE = '-'.repeat(20)
/** White space that is not one space already: most of it is. */
const SPACES = /[ \t\n\r\f]{2,}|[\t\n\r\f]/g
/** Characters of width zero with which templates fill preview texts, soft hyphens, and the spaces around line breaks. */
const FILLING = /[\u00ad\u200b\u200c\u2060\ufeff]|\u034f/g

export function textOfHtml(html: string): string {
  const writer = new TextWriter()
  const parser = new Parser({
    onopentag: (name, attributes) => writer.open(name, attributes),
    onclosetag: (name) => writer.close(name),
    ontext: (text) => writer.write(text),
  })
  parser.end(html)
  return writer.text()
}

class TextWriter {
  /** Joined once at the end: each look at one growing text would copy it. */
  readonly #pieces: string[] = []
  /** How many line ends are due before the next text. */
  #lines = 0
  #hasSpace = false
  /** How many open elements are not read, the outermost first. */
  #unread = 0
  #preformatted = 0
  readonly #links: { readonly href: string; readonly begin: number }[] = []

  text(): string {
    return (
      this.#pieces
        .join('')
        .replaceAll(FILLING, '')
        .replaceAll(/[ \t\u00a0]+$/gm, '')
        .replaceAll(/\n{3,}/g, '\n\n')
        .trim() + '\n'
    )
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (this.#unread > 0) {
      if (!VOID.has(name)) this.#unread++
      return
    }
    if (UNREAD.has(name) || HIDDEN.test(attributes['style'] ?? '') || attributes['hidden'] !== undefined) {
      if (!VOID.has(name)) this.#unread++
      return
    }
    this.#breakFor(name)
    if (name === 'br') this.#lines++
    else if (name === 'hr') this.#add(RULE)
    else if (name === 'li') this.#add('- ')
    else if (name === 'img') this.write(attributes['alt'] ?? '')
    else if (name === 'pre') this.#preformatted++
    else if (name === 'a') this.#links.push({ href: attributes['href'] ?? '', begin: this.#pieces.length })
  }

  close(name: string): void {
    if (this.#unread > 0) {
      if (!VOID.has(name)) this.#unread--
      return
    }
    if (name === 'a') this.#endLink()
    if (name === 'pre') this.#preformatted--
    this.#breakFor(name)
  }

  write(text: string): void {
    if (this.#unread > 0 || text === '') return
    if (this.#preformatted > 0) {
      this.#add(text.replaceAll('\r\n', '\n'))
      return
    }
    const words = text.replaceAll(SPACES, ' ')
    const [beginsApart, endsApart] = [words.startsWith(' '), words.endsWith(' ')]
    if (beginsApart) this.#hasSpace = true
    const trimmed = words.slice(beginsApart ? 1 : 0, endsApart ? -1 : undefined)
    if (trimmed !== '') {
      this.#add(trimmed)
      this.#hasSpace = endsApart
    }
  }

  #breakFor(name: string): void {
    if (PARAGRAPHS.has(name)) this.#lines = Math.max(this.#lines, 2)
    else if (BLOCKS.has(name)) this.#lines = Math.max(this.#lines, 1)
    else if (CELLS.has(name)) this.#hasSpace = true
  }

  #add(text: string): void {
    const last = this.#pieces.at(-1)
    if (last !== undefined) {
      if (this.#lines > 0) this.#pieces.push('\n'.repeat(Math.min(this.#lines, 2)))
      else if (this.#hasSpace && !last.endsWith(' ')) this.#pieces.push(' ')
    }
    this.#pieces.push(text)
    this.#lines = 0
    this.#hasSpace = false
  }

  /** The address stands behind the words, unless it is what they say. */
  #endLink(): void {
    const link = this.#links.pop()
    if (!link || !/^(?:https?|mailto|tel):/i.test(link.href)) return
    const words = this.#pieces.slice(link.begin).join('').trim()
    const shown = link.href.replace(/^(?:mailto|tel):/i, '')
    if (words === shown || words === link.href) return
    this.#hasSpace = words !== ''
    this.#add(words === '' ? link.href : `<${shown}>`)
  }
}
