// An icon beside a word. It never stands for one alone: a button without a word has an `aria-label`.
import { iconAddress, type IconName } from '../../icons.ts'

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg width={size} height={size} aria-hidden="true">
      <use href={iconAddress(name)} />
    </svg>
  )
}
