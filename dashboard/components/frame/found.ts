// What Find finds: pages at once, and what the operations find by a part of a name or id. Only what the role includes.
import type { Permission } from '../../../src/core/accounts/permission.ts'
import { counted } from '../../../src/core/phrases/counted.ts'
import { ApiError } from '../../data/api-error.ts'
import type { Client } from '../../data/client.ts'
import { useQuery, type ShownQuery } from '../../data/queries.ts'
import { useWorkspace, type CurrentWorkspace } from '../../data/session.ts'
import { findText } from '../../texts/frame.ts'
import { settingsText } from '../../texts/settings.ts'
import { NAVIGATION } from './navigation.ts'
import { TABS } from './settings-page.tsx'

export interface FoundEntry {
  readonly href: string
  readonly title: string
  readonly note?: string | undefined
}

export interface FoundGroup {
  readonly title: string
  readonly entries: readonly FoundEntry[]
  /** Why it could not be searched. */
  readonly error?: string
}

export interface Found {
  readonly groups: readonly FoundGroup[]
  readonly isSearching: boolean
}

interface Asked {
  readonly client: Client
  readonly text: string
  readonly signal: AbortSignal
  readonly page: CurrentWorkspace['page']
}

interface Kind {
  readonly title: string
  readonly needs: Permission
  readonly find: (asked: Asked) => Promise<readonly FoundEntry[]>
}

const ENTRIES_MAX = 5
const LENGTH_MIN = 2
const LENGTH_MAX = 128
const REQUEST_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const KINDS: readonly Kind[] = [
  {
    title: findText.campaigns,
    needs: 'campaigns.read',
    async find({ client, page, text: search, signal }) {
      const query = { search, limit: ENTRIES_MAX }
      const { data } = await client.get('/core-services/v1/campaigns', { query, signal })
      return data.map(({ campaign_id: id, name, state }) => ({ href: page('campaigns', id), title: name, note: state }))
    },
  },
  {
    title: findText.templates,
    needs: 'templates.read',
    async find({ client, page, text: search, signal }) {
      const query = { search, limit: ENTRIES_MAX }
      const { data } = await client.get('/v1.0/custom-templates/email', { query, signal })
      return data.map(({ external_template_id: id, meta_info, basic_details }) => {
        return { href: page('templates', id), title: meta_info.template_name, note: basic_details.subject }
      })
    },
  },
  {
    title: findText.segments,
    needs: 'segments.read',
    async find({ client, page, text: search, signal }) {
      const query = { search, limit: ENTRIES_MAX }
      const { data } = await client.get('/core-services/v1/segments', { query, signal })
      return data.map(({ segment_id: id, name }) => ({ href: page('segments', id), title: name }))
    },
  },
  {
    title: findText.coupons,
    needs: 'coupons.read',
    async find({ client, page, text: search, signal }) {
      const query = { search, limit: ENTRIES_MAX }
      const { data } = await client.get('/v1/coupon-list', { query, signal })
      return data.map(({ _id: id, name, label }) => ({ href: page('coupons', id), title: name, note: label }))
    },
  },
  {
    title: findText.users,
    needs: 'users.read',
    async find({ client, page, text: search, signal }) {
      const query = { search, limit: ENTRIES_MAX }
      const { data } = await client.get('/v1/customer/:Workspace_ID/users', { query, signal })
      return data.flatMap(({ customer_id: id, attributes: { email } }) => {
        if (id === null) return []
        const href = page('users', id)
        return [typeof email === 'string' ? { href, title: email, note: id } : { href, title: id }]
      })
    },
  },
  {
    title: findText.requests,
    needs: 'requests.read',
    async find({ client, page, text: id, signal }) {
      if (!REQUEST_ID.test(id)) return []
      const found = await client
        .get('/v1/event/:Workspace_ID/requests/:request_id', { path: { request_id: id }, signal })
        .catch(noneIfUnknown)
      if (!found) return []
      const note = findText.request(found.status, counted(found.events, 'event'))
      return [{ href: `${page('events')}?request=${id}`, title: id, note }]
    },
  },
]

/** `text`: what was typed a moment ago, so that not every letter asks the server. */
export function useFound(typed: string, text: string): Found {
  const workspace = useWorkspace()
  const { may, page } = workspace
  const isWanted = text.length >= LENGTH_MIN && text.length <= LENGTH_MAX
  const query = useQuery({
    key: ['find', text],
    isWanted,
    isEmpty: () => false,
    ask: (client, signal) => {
      const kinds = KINDS.filter(({ needs }) => may(needs))
      return Promise.all(kinds.map((kind) => findKind(kind, { client, text, signal, page })))
    },
  })
  const pages: FoundGroup = {
    title: findText.pages,
    entries: pagesOf(workspace).filter((entry) => contains(entry, typed)),
  }
  const isSearching = typed.length >= LENGTH_MIN && (text !== typed || isOpen(query))
  const others = isWanted && query.state === 'filled' ? query.answer : []
  // Of an earlier text, only what matches this one too.
  const fitting = isSearching
    ? others.map((group) => ({ ...group, entries: group.entries.filter((entry) => contains(entry, typed)) }))
    : others
  const groups = [pages, ...fitting].filter(({ entries, error }) => entries.length > 0 || error !== undefined)
  return { groups, isSearching }
}

function isOpen(query: ShownQuery<unknown>): boolean {
  return query.state === 'loading' || (query.state === 'filled' && query.isPrevious)
}

/** What one kind refuses does not hide what the others find. */
async function findKind({ title, find }: Kind, asked: Asked): Promise<FoundGroup> {
  try {
    return { title, entries: await find(asked) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { title, entries: [], error: error.message }
  }
}

function noneIfUnknown(error: unknown): undefined {
  if (error instanceof ApiError && error.status === 404) return undefined
  throw error
}

function pagesOf({ may, page }: CurrentWorkspace): FoundEntry[] {
  const listed = NAVIGATION.flatMap(({ entries }) => entries)
    .filter(({ needs }) => may(needs))
    .map(({ path, title }) => ({ href: path === '' ? page() : page(path), title }))
  const tabs = TABS.filter(([, needs]) => may(needs)).map(([tab]) => {
    return { href: page('settings', tab), title: findText.settings(settingsText.tabs[tab]) }
  })
  return [...listed, ...tabs]
}

function contains({ title, note = '' }: FoundEntry, text: string): boolean {
  return `${title} ${note}`.toLowerCase().includes(text.toLowerCase())
}
