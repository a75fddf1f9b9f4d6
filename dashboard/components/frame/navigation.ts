// The pages of a workspace in the order of the navigation, and the permission that each needs.
import type { Permission } from '../../../src/core/accounts/permission.ts'
import type { IconName } from '../../icons.ts'
import { frameText } from '../../texts/frame.ts'

export interface NavigationEntry {
  /** The first part of the address behind the workspace; '' for the home page. */
  readonly path: string
  readonly title: string
  readonly icon: IconName
  readonly needs: Permission
}

export interface NavigationGroup {
  readonly title: string | undefined
  readonly entries: readonly NavigationEntry[]
}

export const NAVIGATION: readonly NavigationGroup[] = [
  { title: undefined, entries: [{ path: '', title: frameText.home, icon: 'house', needs: 'workspace.read' }] },
  {
    title: frameText.engage,
    entries: [
      { path: 'campaigns', title: frameText.campaigns, icon: 'send', needs: 'campaigns.read' },
      { path: 'segments', title: frameText.segments, icon: 'users-round', needs: 'segments.read' },
      { path: 'templates', title: frameText.templates, icon: 'mail', needs: 'templates.read' },
      { path: 'coupons', title: frameText.coupons, icon: 'ticket', needs: 'coupons.read' },
    ],
  },
  {
    title: frameText.people,
    entries: [
      { path: 'users', title: frameText.users, icon: 'user-round', needs: 'users.read' },
      { path: 'events', title: frameText.events, icon: 'zap', needs: 'events.read' },
      { path: 'consent', title: frameText.consent, icon: 'list-checks', needs: 'categories.read' },
    ],
  },
]
