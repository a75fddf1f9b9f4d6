// A page within the frame: its title, what it is for, its actions. Moves the focus to the title after a change of page, so that readers of
// the screen say it.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { frameText } from '../../texts/frame.ts'

interface PageProps {
  readonly title: string
  /** What stands beside the title, such as a state. */
  readonly beside?: ComponentChildren
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
  /** The page that this one belongs to. */
  readonly parent?: { readonly href: string; readonly title: string }
  readonly children: ComponentChildren
}

export function Page({ title, beside, lead, actions, parent, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  const { path } = useLocation()
  useEffect(() => {
    document.title = `${title} – ${frameText.product}`
  }, [title])
  useEffect(() => {
    const isElsewhere = document.activeElement === document.body || document.activeElement === null
    if (isElsewhere) heading.current?.focus({ preventScroll: true })
  }, [path])
  return (
    <div class="page">
      <header class="page-head">
        <div class="page-words">
          {parent && (
            <p class="crumbs">
              <a href={parent.href}>{parent.title}</a>
            </p>
          )}
          <div class="row">
            <h1 ref={heading} tabIndex={-1}>
              {title}
            </h1>
            {beside}
          </div>
          {lead && <p class="page-lead">{lead}</p>}
        </div>
        {actions && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}
