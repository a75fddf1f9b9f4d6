// A page of Settings: the tabs that the role includes, and the page.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { Permission } from '../../../src/core/accounts/permission.ts'
import { useWorkspace, type CurrentWorkspace } from '../../data/session.ts'
import { settingsText } from '../../texts/settings.ts'
import { Page } from './page.tsx'

type Tab = keyof typeof settingsText.tabs

/** In their order, with the permission that each needs. Everybody has the last one. */
export const TABS: readonly (readonly [Tab, Permission])[] = [
  ['workspace', 'settings.read'],
  ['apis', 'keys.read'],
  ['limits', 'settings.read'],
  ['senders', 'senders.read'],
  ['suppressions', 'suppressions.read'],
  ['people', 'people.read'],
  ['audit', 'audit.read'],
  ['system', 'system.read'],
  ['account', 'workspace.read'],
]

/** The address of the first page of Settings that the role includes. */
export function settingsStart({ may, page }: CurrentWorkspace): string {
  const [first] = TABS.find(([, needs]) => may(needs)) ?? (['account'] as const)
  return page('settings', first)
}

interface SettingsPageProps {
  readonly title: string
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
  /** The page that this one belongs to, if it is not the first one of Settings. */
  readonly parent?: { readonly href: string; readonly title: string }
  readonly children: ComponentChildren
}

export function SettingsPage({ title, lead, actions, parent, children }: SettingsPageProps) {
  const workspace = useWorkspace()
  const { may, page } = workspace
  const { path } = useLocation()
  const tabs = useRef<HTMLElement>(null)
  // On a narrow screen, the tabs scroll.
  useEffect(() => {
    tabs.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [path])
  return (
    <Page
      title={title}
      lead={lead}
      actions={actions}
      parent={parent ?? { href: settingsStart(workspace), title: settingsText.title }}
    >
      <nav class="tabs" ref={tabs} aria-label={settingsText.title}>
        {TABS.filter(([, needs]) => may(needs)).map(([tab]) => {
          const href = page('settings', tab)
          const isHere = path === href || path.startsWith(`${href}/`)
          return (
            <a key={tab} class="tab" href={href} aria-current={isHere ? 'page' : undefined}>
              {settingsText.tabs[tab]}
            </a>
          )
        })}
      </nav>
      {children}
    </Page>
  )
}
