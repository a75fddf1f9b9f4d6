// Fetches what the templates of a campaign attach: each address once, although several templates may attach it.
import type { Attachment } from '../../../core/templates/template.ts'
import type { FetchedFile } from '../../../store/delivery/delivery-attachments.ts'
import type { LetterAttachment } from '../render-job.ts'
import { ATTACHMENTS_BYTES_MAX, fetchAttachments } from './fetch-attachments.ts'

/** The attachments of all templates of a campaign: as many as its five variations may have without languages. */
const CAMPAIGN_BYTES_MAX = 5 * ATTACHMENTS_BYTES_MAX
/** To fetch the attachments of all templates together. */
const FETCH_TIME_MAX_MS = 60_000
const TEMPLATE_TOO_LARGE = 'its attachments must have at most 10 MiB in all'
const CAMPAIGN_TOO_LARGE = 'the attachments of all templates of a campaign must have at most 50 MiB in all'

export class CampaignFiles {
  readonly #hosts: readonly string[]
  readonly #signal: AbortSignal
  readonly #files = new Map<string, FetchedFile>()
  /** Address → why it was not fetched. */
  readonly #problems = new Map<string, string>()
  #bytes = 0

  /** `hosts`: ATTACHMENT_HOSTS, names that may have any address. The time begins now. */
  constructor(hosts: readonly string[], timeMaxMs = FETCH_TIME_MAX_MS) {
    this.#hosts = hosts
    this.#signal = AbortSignal.timeout(timeMaxMs)
  }

  /** Fetches the attachments of one template. Returns what is wrong with them, as ends of sentences; empty if nothing is. */
  async fetch(wanted: readonly Attachment[]): Promise<string[]> {
    const isKnown = ({ url }: Attachment) => this.#files.has(url) || this.#problems.has(url)
    if (this.#bytes <= CAMPAIGN_BYTES_MAX) await this.#fetchNew(wanted.filter((attachment) => !isKnown(attachment)))
    const problems = wanted.flatMap(({ name, url }) => {
      const problem = this.#problems.get(url)
      return problem === undefined ? [] : [`attachment ${JSON.stringify(name)}: ${problem}`]
    })
    const bytes = wanted.reduce((sum, { url }) => sum + (this.#files.get(url)?.content.byteLength ?? 0), 0)
    if (bytes > ATTACHMENTS_BYTES_MAX) problems.push(TEMPLATE_TOO_LARGE)
    if (wanted.length > 0 && this.#bytes > CAMPAIGN_BYTES_MAX) problems.push(CAMPAIGN_TOO_LARGE)
    return problems
  }

  /** What was fetched. */
  list(): FetchedFile[] {
    return [...this.#files.values()]
  }

  async #fetchNew(wanted: readonly Attachment[]): Promise<void> {
    const once = [...new Map(wanted.map((attachment) => [attachment.url, attachment])).values()]
    const { attachments, faults } = await fetchAttachments(once, { hosts: this.#hosts, signal: this.#signal })
    for (const { url, problem } of faults) this.#problems.set(url, problem)
    const fetched = once.filter(({ url }) => !this.#problems.has(url))
    for (const [index, { url }] of fetched.entries()) {
      const { type, content } = attachments[index] as LetterAttachment
      this.#files.set(url, { url, type, content })
      this.#bytes += content.byteLength
    }
  }
}

/** The attachments of a template, with what was fetched for them. */
export function toLetterAttachments(wanted: readonly Attachment[], files: readonly FetchedFile[]): LetterAttachment[] {
  return wanted.map(({ name, url }) => {
    const file = files.find((one) => one.url === url)
    if (!file) throw new Error(`the attachment ${JSON.stringify(name)} was not fetched`)
    return { name, type: file.type, content: file.content }
  })
}
