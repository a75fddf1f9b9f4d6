// What stands where nothing is yet: what would be here, why one wants it, and how to make the first one.
import type { ComponentChildren } from 'preact'
import type { IconName } from '../../icons.ts'
import { Icon } from './icon.tsx'

interface EmptyProps {
  readonly icon: IconName
  readonly title: string
  readonly children?: ComponentChildren
  /** The button that makes the first one, or removes the filter. */
  readonly action?: ComponentChildren
}

export function Empty({ icon, title, children, action }: EmptyProps) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  )
}
