// The calls of the email template operations, with bodies that tests change where it matters to them.
import { LIMIT_DEFAULTS } from '../../../src/core/workspace.ts'
import type { Answer, TestServer, TestWorkspace } from '../server.ts'

export const TEMPLATES = '/v1.0/custom-templates/email'
export const SEARCH = `${TEMPLATES}/search`

/** Room for more searches and changes than a workspace may send by default. */
export const ROOMY = {
  limits: { ...LIMIT_DEFAULTS, search_templates_per_minute: 100_000, management_per_minute: 100_000 },
}

export interface Item {
  readonly external_template_id: string
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
  readonly updated_by: string
  readonly archived_at?: string
  readonly is_default_template_of_group?: boolean
  readonly unique_locale_count?: number
  readonly unique_variation_count?: number
  readonly total_templates_in_group?: number
  readonly basic_details: Readonly<Record<string, unknown>>
  readonly meta_info: Readonly<Record<string, unknown>>
}

export interface SearchAnswer {
  readonly data: readonly Item[]
  readonly total_count?: number
}

/** A template as lists show it. */
export interface ListedItem extends Omit<Item, 'created_at'> {
  readonly template_source: string
}

export interface TemplatesPageBody {
  readonly data: readonly ListedItem[]
  readonly next_before: string | null
}

export interface Saved {
  readonly external_template_id: string
  readonly version: number
}

export interface VersionsPageBody {
  readonly data: readonly {
    readonly version: number
    readonly updated_at: string
    readonly updated_by: string
    readonly subject: string
    readonly changed: readonly string[]
  }[]
  readonly next_before: number | null
}

export interface PreviewBody {
  readonly subject: string | null
  readonly sender_name: string | null
  readonly html: string | null
  readonly text: string | null
  readonly faults: readonly {
    readonly field: string | null
    readonly line: number | null
    readonly column: number | null
    readonly kind: string
    readonly problem: string
  }[]
}

type Members = Readonly<Record<string, unknown>>

let made = 0

/** The body of a new template, whose `template_id` no other has. */
export function newTemplate(meta: Members = {}, details: Members = {}) {
  return {
    basic_details: { email_content: '<p>Hello</p>', subject: 'Hello', ...details },
    meta_info: {
      template_id: `template-${++made}`,
      template_name: 'A template',
      template_version: '1.0',
      created_by: 'anna@example.com',
      ...meta,
    },
  }
}

/** The operations as one workspace calls them. */
export class TemplateCaller {
  readonly #server: TestServer
  readonly #workspace: TestWorkspace

  constructor(server: TestServer, workspace: TestWorkspace) {
    this.#server = server
    this.#workspace = workspace
  }

  create(body: unknown): Promise<Answer<Saved>> {
    return this.#server.call('POST', TEMPLATES, { as: this.#workspace, body })
  }

  update(body: unknown): Promise<Answer<Saved>> {
    return this.#server.call('PUT', TEMPLATES, { as: this.#workspace, body })
  }

  archive(id: string): Promise<Answer<unknown>> {
    return this.#server.call('PUT', `${TEMPLATES}/${id}/archive`, { as: this.#workspace })
  }

  restore(id: string): Promise<Answer<unknown>> {
    return this.#server.call('PUT', `${TEMPLATES}/${id}/restore`, { as: this.#workspace })
  }

  delete(id: string): Promise<Answer<unknown>> {
    return this.#server.call('DELETE', `${TEMPLATES}/${id}`, { as: this.#workspace })
  }

  search(body: unknown): Promise<Answer<SearchAnswer>> {
    return this.#server.call('POST', SEARCH, { as: this.#workspace, body })
  }

  list(query: Members = {}): Promise<Answer<TemplatesPageBody>> {
    return this.#server.call('GET', TEMPLATES + toQuery(query), { as: this.#workspace })
  }

  get(id: string, query: Members = {}): Promise<Answer<Item & { readonly latest_version: number }>> {
    return this.#server.call('GET', `${TEMPLATES}/${id}${toQuery(query)}`, { as: this.#workspace })
  }

  versions(id: string, query: Members = {}): Promise<Answer<VersionsPageBody>> {
    return this.#server.call('GET', `${TEMPLATES}/${id}/versions${toQuery(query)}`, { as: this.#workspace })
  }

  preview(body: unknown): Promise<Answer<PreviewBody>> {
    return this.#server.call('POST', `${TEMPLATES}/preview`, { as: this.#workspace, body })
  }

  /** Creates a template and gives its id. */
  async add(meta: Members = {}, details: Members = {}): Promise<string> {
    return accepted(await this.create(newTemplate(meta, details))).external_template_id
  }

  /** Makes the next version of a template and gives its number. */
  async change(id: string, meta: Members = {}, updatedBy = 'ben@example.com'): Promise<number> {
    return accepted(await this.update({ external_template_id: id, updated_by: updatedBy, meta_info: meta })).version
  }

  /** The items of the first page. */
  async find(body: Members): Promise<readonly Item[]> {
    return accepted(await this.search({ page: 1, entries: 15, ...body })).data
  }

  /** The names of the items of the first page. */
  async names(body: Members): Promise<unknown[]> {
    return (await this.find(body)).map((item) => item.meta_info['template_name'])
  }

  /** The one item that is the latest version of a template. */
  async latest(id: string): Promise<Item> {
    const [item] = await this.find({ external_template_ids: [{ external_template_id: id }] })
    if (!item) throw new Error(`there is no template ${id}`)
    return item
  }
}

/** The body of an answer that must be successful for the test to go on. */
function accepted<Body>({ status, body }: Answer<Body>): Body {
  if (status !== 200) throw new Error(`answered ${status}: ${JSON.stringify(body)}`)
  return body
}

function toQuery(members: Members): string {
  const given = Object.entries(members).map(([name, value]) => [name, String(value)])
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
}
