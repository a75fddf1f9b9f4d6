// The frame around the pages of a workspace: navigation, banners, and the page.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { pageAddress } from '../../data/address.ts'
import { useSession, useWorkspace } from '../../data/session.ts'
import { frameText } from '../../texts/frame.ts'
import { Icon } from '../content/icon.tsx'
import { Toasts } from '../content/toasts.tsx'
import { Button } from '../controls/button.tsx'
import { Menu } from '../controls/menu.tsx'
import { FindButton, useFinding } from './find-button.tsx'
import { NAVIGATION, type NavigationEntry } from './navigation.ts'
import { settingsStart } from './settings-page.tsx'

interface ShellProps {
  /** Lines above the page: what is wrong with the server or the connection. */
  readonly banners?: ComponentChildren
  readonly signOut: () => void
  readonly children: ComponentChildren
}

export function Frame({ banners, signOut, children }: ShellProps) {
  const [isOpen, setOpen] = useState(false)
  const { path } = useLocation()
  const { isSuspended } = useWorkspace()
  const { is_secure: isSecure } = useSession()
  const finding = useFinding()
  useEffect(() => setOpen(false), [path])
  return (
    <div class="shell">
      <a class="button main visually-hidden" href="#main">
        {frameText.skip}
      </a>
      <header class="shell-top">
        <Button kind="quiet" icon="menu" label={frameText.menu} onClick={() => setOpen(!isOpen)} />
        <Brand />
        <Button kind="quiet" icon="search" label={frameText.find} onClick={finding.open} />
      </header>
      <nav aria-label={frameText.nav} class={isOpen ? 'shell-bar open' : 'shell-bar'}>
        <Brand />
        <Navigation path={path} find={finding.open} />
        <PersonMenu signOut={signOut} />
      </nav>
      <main class="shell-main" id="main" tabIndex={-1}>
        {!isSecure && <Banner>{frameText.plainHttp}</Banner>}
        {isSuspended && <Banner>{frameText.suspended}</Banner>}
        {banners}
        {children}
      </main>
      {finding.dialog}
      <Toasts />
    </div>
  )
}

export function Banner({ children }: { readonly children: string }) {
  return (
    <p class="banner" role="status">
      <Icon name="triangle-alert" />
      {children}
    </p>
  )
}

export function Brand() {
  return (
    <a class="brand" href="/dashboard">
      <img src="/docs/icon.svg" alt="" width="24" height="24" />
      {frameText.product}
    </a>
  )
}

function Navigation({ path, find }: { readonly path: string; readonly find: () => void }) {
  const { may, page } = useWorkspace()
  const here = path.split('/')[3] ?? ''
  const link = ({ path: to, title, icon }: NavigationEntry) => (
    <a key={to} class="nav-link" href={to === '' ? page() : page(to)} aria-current={here === to ? 'page' : undefined}>
      <Icon name={icon} />
      {title}
    </a>
  )
  return (
    <div class="nav">
      <div class="nav-head">
        <WorkspaceMenu />
        <FindButton open={find} />
      </div>
      {NAVIGATION.map(({ title, entries }) => {
        const allowed = entries.filter(({ needs }) => may(needs))
        if (allowed.length === 0) return null
        return (
          <div key={title ?? ''}>
            {title !== undefined && <p class="nav-title">{title}</p>}
            {allowed.map(link)}
          </div>
        )
      })}
    </div>
  )
}

function WorkspaceMenu() {
  const { workspaces } = useSession()
  const { name } = useWorkspace()
  const items = workspaces.map((workspace) => ({
    label: workspace.name,
    href: pageAddress(workspace.workspace_id),
  }))
  return (
    <Menu label={frameText.workspace} items={items} buttonClass="button">
      <span class="workspace-name">{name}</span>
      <Icon name="chevron-down" />
    </Menu>
  )
}

function PersonMenu({ signOut }: { readonly signOut: () => void }) {
  const { person } = useSession()
  const workspace = useWorkspace()
  const { path } = useLocation()
  const here = path.split('/')[3] ?? ''
  return (
    <div class="shell-person">
      <a class="nav-link" href={settingsStart(workspace)} aria-current={here === 'settings' ? 'page' : undefined}>
        <Icon name="settings" />
        {frameText.settings}
      </a>
      <a class="nav-link" href="/docs">
        <Icon name="book-open" />
        {frameText.reference}
      </a>
      <Menu
        label={frameText.account}
        buttonClass="nav-link button quiet"
        items={[
          { label: frameText.account, icon: 'user-round', href: workspace.page('settings', 'account') },
          { label: frameText.signOut, icon: 'log-out', onClick: signOut },
        ]}
      >
        <Icon name="user-round" />
        <span class="person-name">{person.name}</span>
      </Menu>
    </div>
  )
}
