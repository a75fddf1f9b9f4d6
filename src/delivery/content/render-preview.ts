// The preview of a message: its parts as a person would get them, and whether the person would get it ("A campaign with delivery").
import type { PartsResult, RenderedParts, RenderJob } from './render-job.ts'
import type { Renderer } from './renderer.ts'

/** Shown in place of a code, of which previews and tests take none. */
export const TEST_CODE = 'TEST-CODE'

/** What would become of the person's message: sent, or held back for this reason. */
export type Placement = { readonly wouldSend: true } | { readonly wouldSend: false; readonly reason: string }

export type Preview = Omit<RenderedParts, 'isOk'> & Placement

const NOTHING: Omit<RenderedParts, 'isOk'> = { subject: '', html: '', text: '', headers: [] }
const NOT_RENDERED = 'user_removed_due_to_personalization_failed'

/** A job whose links belong to nobody and that takes no coupon, for previews and tests. */
export function withoutPerson(job: Omit<RenderJob, 'message' | 'coupons'>): RenderJob {
  const labels = job.letter.template.coupons
  return { ...job, message: 0, coupons: Object.fromEntries(labels.map((label) => [label, TEST_CODE])) }
}

/** A message that cannot be rendered has empty parts; `problem` says why. A reason that comes first stays. */
export async function renderPreview(
  renderer: Renderer,
  job: Omit<RenderJob, 'message' | 'coupons'>,
  placement: Placement,
): Promise<Preview & { readonly problem?: string }> {
  const result: PartsResult = await renderer.renderParts(withoutPerson(job))
  if (result.isOk) {
    const { subject, html, text, headers } = result
    return { subject, html, text, headers, ...placement }
  }
  const { problem } = result
  return { ...NOTHING, wouldSend: false, reason: placement.wouldSend ? NOT_RENDERED : placement.reason, problem }
}
