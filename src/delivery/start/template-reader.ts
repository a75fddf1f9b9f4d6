// Reads each template of a campaign once.
import type { PinnedTemplate } from '../../core/delivery/audience/pinned-variation.ts'
import type { Store } from '../../store/store.ts'
import { findTemplateVersions } from '../../store/templates/template-versions.ts'
import { prepareTemplate, type PreparedTemplate } from '../content/template/prepare-template.ts'
import { templateKey } from '../run/run-letters.ts'

/** What is kept of a template: its content may have a megabyte. */
type Known = Pick<PreparedTemplate, 'variables' | 'coupons'>

export class TemplateReader {
  readonly workspaceId: string
  readonly #store: Store
  readonly #known = new Map<string, Known>()

  constructor(store: Store, workspaceId: string) {
    this.#store = store
    this.workspaceId = workspaceId
  }

  async read(template: PinnedTemplate): Promise<Known> {
    const key = templateKey(template)
    const known = this.#known.get(key) ?? (await this.#prepare(template))
    this.#known.set(key, known)
    return known
  }

  async #prepare(template: PinnedTemplate): Promise<Known> {
    const [found] = await findTemplateVersions(this.#store, this.workspaceId, [template])
    if (!found) return { variables: [], coupons: [] }
    const { emailContent: html, subject, senderName } = found.details
    const { variables, coupons } = prepareTemplate({ html, subject, senderName })
    return { variables, coupons }
  }
}
