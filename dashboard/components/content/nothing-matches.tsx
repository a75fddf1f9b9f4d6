// What stands in place of a list when no item matches its filters.
import { useAddress } from '../../data/address.ts'
import { shownText } from '../../texts/shown.ts'
import { LinkButton } from '../controls/button.tsx'
import { Empty } from './empty.tsx'

/** `names`: the filters in the address. Undefined if none is set, so that the list itself is empty. */
export function nothingMatches({ get, with: withValues }: ReturnType<typeof useAddress>, names: readonly string[]) {
  if (names.every((name) => get(name) === undefined)) return undefined
  const href = withValues(Object.fromEntries(names.map((name) => [name, undefined])))
  return (
    <Empty
      icon="search"
      title={shownText.nothingMatches}
      action={<LinkButton href={href}>{shownText.clear}</LinkButton>}
    />
  )
}
