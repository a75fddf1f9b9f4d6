// A message within the page: something to know, that waits, or that failed.
import type { ComponentChildren } from 'preact'
import type { IconName } from '../../icons.ts'
import { Icon } from './icon.tsx'

export type NoticeKind = 'info' | 'good' | 'warn' | 'bad'

const ICONS_OF: { readonly [kind in NoticeKind]: IconName } = {
  info: 'info',
  good: 'circle-check',
  warn: 'triangle-alert',
  bad: 'circle-alert',
}

interface NoticeProps {
  readonly kind?: NoticeKind
  /** Whether it came up just now, so that readers of the screen say it. */
  readonly isAlert?: boolean
  readonly children: ComponentChildren
}

export function Notice({ kind = 'info', isAlert = false, children }: NoticeProps) {
  return (
    <div class={`notice ${kind}`} role={isAlert ? 'alert' : undefined}>
      <Icon name={ICONS_OF[kind]} />
      <div class="stack">{children}</div>
    </div>
  )
}
