// A state in a word, with a mark and a colour.
import type { IconName } from '../../icons.ts'
import { Icon } from './icon.tsx'

export type BadgeKind = 'plain' | 'good' | 'warn' | 'bad' | 'accent'

interface BadgeProps {
  readonly kind?: BadgeKind
  readonly icon?: IconName
  readonly children: string | number
}

export function Badge({ kind = 'plain', icon, children }: BadgeProps) {
  return (
    <span class={`badge ${kind}`}>
      {icon && <Icon name={icon} size={12} />}
      {children}
    </span>
  )
}
