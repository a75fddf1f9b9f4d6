// A part of a page, with a title.
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface CardProps {
  readonly title?: string
  /** What the part is about, or what its numbers count. */
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
  /** Whether its content, such as a table, reaches the border. */
  readonly isFlush?: boolean
  readonly children: ComponentChildren
}

export function Card({ title, lead, actions, isFlush = false, children }: CardProps) {
  const id = useId()
  const head = (title !== undefined || actions) && (
    <div class="card-head">
      <div class="card-words">
        {title !== undefined && <h2 id={id}>{title}</h2>}
        {lead && <p class="note">{lead}</p>}
      </div>
      {actions && <div class="row">{actions}</div>}
    </div>
  )
  return (
    <section class={isFlush ? 'card flush' : 'card'} aria-labelledby={title === undefined ? undefined : id}>
      {head}
      {children}
    </section>
  )
}
