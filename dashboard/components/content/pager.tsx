// Leads through the pages of a list. The cursor stands in the address.
import { useAddress } from '../../data/address.ts'
import { shownText } from '../../texts/shown.ts'
import { LinkButton } from '../controls/button.tsx'

interface PagerProps {
  /** The cursor of the next page; null on the last one. */
  readonly next: string | number | null | undefined
  /** The name of the cursor in the address. Lists begin with the newest; those with `after` have an order of their own. */
  readonly name?: string
  /** What the page shows, such as «50 campaigns». */
  readonly children?: string
}

export function Pager({ next, name = 'before', children }: PagerProps) {
  const address = useAddress()
  const [first, further] = name === 'after' ? [shownText.first, shownText.further] : [shownText.newest, shownText.older]
  const isFirst = address.get(name) === undefined
  const hasNext = next !== null && next !== undefined
  if (isFirst && !hasNext) return children ? <p class="pager note">{children}</p> : null
  return (
    <nav class="pager" aria-label={children ?? further}>
      <span class="note">{children}</span>
      <span class="row">
        {!isFirst && <LinkButton href={address.with({ [name]: undefined })}>{first}</LinkButton>}
        {hasNext && <LinkButton href={address.with({ [name]: String(next) })}>{further}</LinkButton>}
      </span>
    </nav>
  )
}
