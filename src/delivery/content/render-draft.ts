// Renders a template while it is written, for a preview beside an editor: each text by itself, and on past values that are missing.
// Runs on the render thread, because to read a megabyte of Liquid takes seconds.
import type { Template } from 'liquidjs'
import { onOneLine } from './mail/mail-headers.ts'
import { textOfHtml } from './mail/text-of-html.ts'
import { MessageLinks } from './message-links.ts'
import { OpenedLetter, type PersonalJob } from './opened-letter.ts'
import type { DraftFault, DraftJob, RenderedDraft } from './render-job.ts'
import { DRAFT_FAULTS_MAX, RENDER_TIME_MAX_MS, RENDERED_BYTES_MAX, TOO_LONG } from './render-limits.ts'
import { completeHtml, renderProblem, scopeOf } from './render-message.ts'
import { LINK_WRITER } from './template/link-tags.ts'
import { placeOfError, renderLiquid } from './template/mail-liquid.ts'
import { prepareDraft, type PreparedDraft, type TemplateField } from './template/prepare-template.ts'

/** Never throws for what is written in the template. */
export function renderDraft({ text, letter, couponCode, ...person }: DraftJob): RenderedDraft {
  const draft = prepareDraft(text)
  const { template, couponUses, placeOf } = draft
  const coupons = Object.fromEntries(template.coupons.map((label) => [label, couponCode]))
  const job = { ...person, message: 0, to: '', coupons, allowsTracking: false }
  const { faults, ...texts } = renderTexts(new OpenedLetter({ ...letter, template, attachments: [] }), job, draft)
  const found = template.faults.map((fault) => ({ kind: 'template' as const, ...fault }))
  return {
    isOk: true,
    ...texts,
    faults: [...found, ...faults].slice(0, DRAFT_FAULTS_MAX),
    coupons: couponUses
      .slice(0, DRAFT_FAULTS_MAX)
      .map(({ label, field, at }) => ({ label, field, ...placeOf(field, at) })),
  }
}

function renderTexts(
  opened: OpenedLetter,
  job: PersonalJob,
  draft: PreparedDraft,
): Omit<RenderedDraft, 'isOk' | 'coupons'> {
  const links = new MessageLinks(opened, job)
  const surroundings = {
    draft,
    scope: scopeOf(opened.letter, job, links),
    registers: { [LINK_WRITER]: links },
    until: performance.now() + RENDER_TIME_MAX_MS,
  }
  const subject = renderField('subject', opened.subject, surroundings)
  const senderName = renderField('sender_name', opened.senderName, surroundings)
  const body = renderField('email_content', opened.html, surroundings)
  const html = body.text === null ? null : completeHtml(body.text, links, job)
  const isTooLong = html !== null && Buffer.byteLength(html) > RENDERED_BYTES_MAX
  const faults = [...subject.faults, ...senderName.faults, ...body.faults]
  if (isTooLong) faults.push({ field: 'email_content', ...NOWHERE, kind: 'template', problem: TOO_LONG })
  return {
    subject: subject.text === null ? null : onOneLine(subject.text),
    senderName: senderName.text === null ? null : onOneLine(senderName.text),
    html: isTooLong ? null : html,
    text: html === null || isTooLong ? null : textOfHtml(html),
    faults,
  }
}

const NOWHERE = { line: null, column: null }

interface Surroundings {
  readonly draft: PreparedDraft
  readonly scope: object
  readonly registers: Readonly<Record<string, unknown>>
  /** When the time of all texts is over. */
  readonly until: number
}

interface RenderedField {
  /** Null if nothing can be rendered. */
  readonly text: string | null
  readonly faults: readonly DraftFault[]
}

/** A field whose Liquid has faults is not rendered; they are named elsewhere. */
function renderField(
  field: TemplateField,
  templates: Template[],
  { draft: { template, placeOf }, scope, registers, until }: Surroundings,
): RenderedField {
  if (template.faults.some((fault) => fault.field === field)) return { text: null, faults: [] }
  try {
    const { text, missing } = renderLiquid(templates, scope, { registers, timeMaxMs: until - performance.now() })
    const faults = missing.slice(0, DRAFT_FAULTS_MAX).map(({ name, at }) => {
      return { field, ...placeOf(field, at), kind: 'value' as const, problem: `No value for ${name}.` }
    })
    return { text, faults }
  } catch (error) {
    const at = placeOfError(error)
    const place = at === undefined ? NOWHERE : placeOf(field, at)
    return { text: null, faults: [{ field, ...place, kind: 'template', problem: renderProblem(error) }] }
  }
}
