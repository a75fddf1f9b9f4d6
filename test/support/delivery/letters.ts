// Letters and jobs of tests: a sender, a campaign and a person, with what a test wants to differ.
import type { Letter, LetterSender, RenderJob } from '../../../src/delivery/content/render-job.ts'
import { prepareTemplate, type TemplateText } from '../../../src/delivery/content/template/prepare-template.ts'

export const LINKS_BASE = 'https://mail.shop.example'

export const SENDER: LetterSender = {
  fromEmail: 'news@shop.example',
  fromName: 'The Shop',
  replyTo: null,
  returnPathDomain: 'bounces.shop.example',
  smtpHost: 'smtp.shop.example',
  dkim: null,
}

/** A letter with this HTML. */
export function letterOf(
  html: string,
  changes: Partial<Letter> & { readonly text?: Partial<TemplateText> } = {},
): Letter {
  const { text, ...others } = changes
  return {
    template: prepareTemplate({ html, subject: 'News', senderName: '', ...text }),
    run: 7,
    workspaceId: 'shop',
    linkKey: 'a key of the workspace',
    linksBase: LINKS_BASE,
    campaign: { id: 'spring', name: 'Spring sale' },
    isTransactional: false,
    tracking: { opens: true, clicks: true },
    sender: SENDER,
    attachments: [],
    ...others,
  }
}

export function jobOf(letter: Letter, changes: Partial<RenderJob> = {}): RenderJob {
  return {
    letter,
    message: 3,
    to: 'ana@people.example',
    customerId: 'c-1',
    attributes: {},
    locale: null,
    coupons: {},
    allowsTracking: true,
    date: Date.UTC(2026, 2, 1, 12),
    ...changes,
  }
}
