// The Liquid tags that `prepare-template.ts` writes in place of addresses: they print the links of one message.
import { Tag, type Context, type Emitter, type Liquid, type Template, type TopLevelToken, TypeGuards } from 'liquidjs'
import { BoundedEmitter, escapeHtml, mailLiquid, MailParser } from './mail-liquid.ts'

/** What the tags ask. */
export interface LinkWriter {
  /** The address to print for a link that is the same for everybody. */
  sharedLink(number: number): string
  /** The address to print for a link with this target. */
  personalLink(number: number, target: string): string
  /** Printed where the body ends. */
  readonly endMark: string
}

/** Under this name the render context keeps its `LinkWriter`. */
export const LINK_WRITER = 'svc_links'

type TagArguments = ConstructorParameters<typeof Tag>
type TagToken = TagArguments[0]

function writerOf(context: Context): LinkWriter {
  return context.getRegister(LINK_WRITER)
}

class SharedLinkTag extends Tag {
  readonly #number: number

  constructor(token: TagToken, remainTokens: TopLevelToken[], liquid: Liquid) {
    super(token, remainTokens, liquid)
    this.#number = Number(token.args)
  }

  override render(context: Context, emitter: Emitter): void {
    emitter.write(escapeHtml(writerOf(context).sharedLink(this.#number)))
  }
}

/** Renders its content without escaping: it is an address, which is escaped when it is printed. */
class PersonalLinkTag extends Tag {
  readonly #number: number
  readonly #address: Template[] = []

  constructor(token: TagToken, remainTokens: TopLevelToken[], liquid: Liquid) {
    super(token, remainTokens, liquid)
    this.#number = Number(token.args)
    const parser = new MailParser('text')
    for (let next = remainTokens.shift(); next; next = remainTokens.shift()) {
      if (TypeGuards.isTagToken(next) && next.name === 'endsvc_personal') return
      this.#address.push(parser.parseToken(next, remainTokens))
    }
    throw new Error('a personal link does not end')
  }

  override *render(context: Context, emitter: Emitter): IterableIterator<unknown> {
    const address = new BoundedEmitter()
    yield this.liquid.renderer.renderTemplates(this.#address, context, address)
    emitter.write(escapeHtml(writerOf(context).personalLink(this.#number, address.buffer)))
  }
}

class EndTag extends Tag {
  override render(context: Context, emitter: Emitter): void {
    emitter.write(writerOf(context).endMark)
  }
}

/** Call it before templates are parsed for rendering. */
export function registerLinkTags(): void {
  mailLiquid.registerTag('svc_link', SharedLinkTag)
  mailLiquid.registerTag('svc_personal', PersonalLinkTag)
  mailLiquid.registerTag('svc_end', EndTag)
}
