// Previews a template that is being written and need not be stored: what it becomes for a person, and every fault with its place.
import type { Workspace } from '../../core/workspace.ts'
import type { Store } from '../../store/store.ts'
import type { DraftJob, RenderedDraft } from '../content/render-job.ts'
import { DRAFT_FAULTS_MAX } from '../content/render-limits.ts'
import type { Renderer } from '../content/renderer.ts'
import type { TemplateField } from '../content/template/prepare-template.ts'
import { findCouponProblems } from '../start/content-faults.ts'

/** In place of a campaign's. */
const CAMPAIGN = { id: 'preview', name: 'Preview' }
/** Links of previews belong to nobody. A host that cannot exist, where the server has no base for links. */
const LINKS_BASE = 'https://preview.invalid'
/** A preview of a template is not sent. */
const NO_SENDER = { fromEmail: '', fromName: '', replyTo: null, returnPathDomain: null, smtpHost: '', dkim: null }

/**
 * `template`: it cannot be rendered for anybody. `coupons`: there are no coupons to print. `value`: this person has no value that it
 * prints. Each of them would hold a message back.
 */
export const PREVIEW_FAULT_KINDS = ['template', 'coupons', 'value'] as const

export interface PreviewFault {
  /** Null if it is not known which of the texts is to blame. */
  readonly field: TemplateField | null
  /** Null if the place is not known. */
  readonly line: number | null
  readonly column: number | null
  readonly kind: (typeof PREVIEW_FAULT_KINDS)[number]
  readonly problem: string
}

export interface DraftPreview extends Omit<RenderedDraft, 'isOk' | 'faults' | 'coupons'> {
  /** Those of the template first; at most `DRAFT_FAULTS_MAX`. */
  readonly faults: readonly PreviewFault[]
}

export interface DraftSources extends Omit<DraftJob, 'letter' | 'date'> {
  readonly workspace: Workspace
  readonly publicUrl: string | undefined
  readonly now: number
}

export async function previewDraft(
  store: Store,
  renderer: Renderer,
  { workspace, publicUrl, now, ...job }: DraftSources,
): Promise<DraftPreview> {
  const result = await renderer.renderDraft({ ...job, letter: toLetter(workspace, publicUrl), date: now })
  if (!result.isOk) {
    const fault = { field: null, line: null, column: null, kind: 'template', problem: result.problem } as const
    return { subject: null, senderName: null, html: null, text: null, faults: [fault] }
  }
  const { subject, senderName, html, text, faults, coupons } = result
  const labels = [...new Set(coupons.map(({ label }) => label))]
  const problems = await findCouponProblems(store, labels, { workspace, now })
  const couponFaults = coupons.flatMap(({ label, ...place }) => {
    const problem = problems.get(label)
    return problem === undefined ? [] : [{ ...place, kind: 'coupons' as const, problem }]
  })
  const ofKind = (kind: PreviewFault['kind']) => faults.filter((fault) => fault.kind === kind)
  const all = [...ofKind('template'), ...couponFaults, ...ofKind('value')].slice(0, DRAFT_FAULTS_MAX)
  return { subject, senderName, html, text, faults: all }
}

function toLetter(workspace: Workspace, publicUrl: string | undefined): DraftJob['letter'] {
  return {
    run: 0,
    workspaceId: workspace.id,
    linkKey: workspace.linkKey,
    linksBase: publicUrl ?? LINKS_BASE,
    campaign: CAMPAIGN,
    isTransactional: false,
    tracking: { opens: false, clicks: false },
    sender: NO_SENDER,
  }
}
