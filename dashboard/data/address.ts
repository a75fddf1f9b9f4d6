// What the address of the page says: which workspace, and the values of filters, ranges and tabs. Screens keep such state nowhere else,
// so that reload, back and a pasted link show the same.
import { useLocation } from 'preact-iso'

/** The address of a page of a workspace: `('main', 'campaigns', id)`. */
export function pageAddress(workspace: string, ...parts: readonly string[]): string {
  return ['/dashboard', workspace, ...parts]
    .map((part, index) => (index === 0 ? part : encodeURIComponent(part)))
    .join('/')
}

export interface AddressState {
  readonly path: string
  /** Undefined where the address has none. */
  readonly get: (name: string) => string | undefined
  /** Replaces values; undefined and '' take one away. A change of filters replaces the entry of the history, `isStep` adds one. */
  readonly set: (values: Readonly<Record<string, string | undefined>>, options?: { readonly isStep?: boolean }) => void
  /** The address with other values, for a link. */
  readonly with: (values: Readonly<Record<string, string | undefined>>) => string
}

export function useAddress(): AddressState {
  const { path, query, route } = useLocation()
  const withValues: AddressState['with'] = (values) => {
    const kept = Object.entries({ ...query, ...values }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
    )
    const search = new URLSearchParams(kept).toString()
    return search === '' ? path : `${path}?${search}`
  }
  return {
    path,
    get: (name) => (query[name] === '' ? undefined : query[name]),
    set: (values, { isStep = false } = {}) => route(withValues(values), !isStep),
    with: withValues,
  }
}
