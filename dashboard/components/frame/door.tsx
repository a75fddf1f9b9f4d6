// A page before somebody has signed in: one card.
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { frameText } from '../../texts/frame.ts'
import { Brand } from './frame.tsx'

interface DoorProps {
  readonly title: string
  readonly lead?: string
  readonly children: ComponentChildren
}

export function Door({ title, lead, children }: DoorProps) {
  useEffect(() => {
    document.title = `${title} – ${frameText.product}`
  }, [title])
  return (
    <main class="door">
      <Brand />
      <div class="door-card">
        <div class="stack">
          <h1>{title}</h1>
          {lead && <p class="quiet-text">{lead}</p>}
        </div>
        {children}
      </div>
    </main>
  )
}
