// The pages of one workspace, within the frame. What the role does not include is not shown; signing in again happens over the page.
import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Route, Router, useRoute } from 'preact-iso'
import type { Permission } from '../src/core/accounts/permission.ts'
import { LinkButton } from './components/controls/button.tsx'
import { Dialog } from './components/controls/dialog.tsx'
import { Frame } from './components/frame/frame.tsx'
import { loadScreen } from './components/frame/load-screen.tsx'
import { Page } from './components/frame/page.tsx'
import { Stale } from './components/frame/stale.tsx'
import { SignInForm } from './components/frame/sign-in-form.tsx'
import { useData } from './data/queries.ts'
import {
  ScreenPathsContext,
  useWorkspace,
  WorkspaceContext,
  type ScreenPath,
  type SessionBody,
  type SessionWorkspace,
} from './data/session.ts'
import { LiveContext, useNewLive } from './data/use-live.ts'
import { frameText } from './texts/frame.ts'

interface Screen extends ScreenPath {
  readonly component: FunctionComponent
}

export const SCREENS: readonly Screen[] = [
  screen('/', 'workspace.read', () => import('./screens/home.tsx')),
  screen('/campaigns', 'campaigns.read', () => import('./screens/campaigns/list.tsx')),
  screen('/campaigns/new', 'campaigns.write', () => import('./screens/campaigns/editor.tsx')),
  screen('/campaigns/:campaign_id/edit', 'campaigns.write', () => import('./screens/campaigns/editor.tsx')),
  screen('/campaigns/:campaign_id/run', 'campaigns.read', () => import('./screens/campaigns/run.tsx')),
  screen('/campaigns/:campaign_id', 'campaigns.read', () => import('./screens/campaigns/report.tsx')),
  screen('/users', 'users.read', () => import('./screens/users/users.tsx')),
  screen('/users/:customer_id', 'users.read', () => import('./screens/users/person.tsx')),
  screen('/users/by/:name/:value', 'users.read', () => import('./screens/users/person.tsx')),
  screen('/events', 'events.read', () => import('./screens/events/events.tsx')),
  screen('/segments', 'segments.read', () => import('./screens/segments/list.tsx')),
  screen('/segments/new', 'segments.write', () => import('./screens/segments/new.tsx')),
  screen('/segments/:segment_id', 'segments.read', () => import('./screens/segments/segment.tsx')),
  screen('/welcome', 'keys.read', () => import('./screens/welcome.tsx')),
  screen('/templates', 'templates.read', () => import('./screens/templates/list.tsx')),
  screen('/templates/new', 'templates.write', () => import('./screens/templates/new-template.tsx')),
  screen('/templates/:external_template_id', 'templates.read', () => import('./screens/templates/template.tsx')),
  screen(
    '/templates/:external_template_id/versions',
    'templates.read',
    () => import('./screens/templates/versions.tsx'),
  ),
  screen('/templates/:external_template_id/group', 'templates.read', () => import('./screens/templates/group.tsx')),
  screen('/settings/apis', 'keys.read', () => import('./screens/settings/apis.tsx')),
  screen('/settings/system', 'system.read', () => import('./screens/settings/system.tsx')),
  screen('/coupons', 'coupons.read', () => import('./screens/coupons/coupon-lists.tsx')),
  screen('/coupons/:coupon_list_id', 'coupons.read', () => import('./screens/coupons/coupon-list.tsx')),
  screen('/consent', 'categories.read', () => import('./screens/consent.tsx')),
  screen('/settings/workspace', 'settings.read', () => import('./screens/settings/workspace.tsx')),
  screen('/settings/limits', 'settings.read', () => import('./screens/settings/limits.tsx')),
  screen('/settings/senders', 'senders.read', () => import('./screens/settings/senders.tsx')),
  screen('/settings/senders/:sender_id', 'senders.read', () => import('./screens/settings/sender.tsx')),
  screen('/settings/suppressions', 'suppressions.read', () => import('./screens/settings/suppressions.tsx')),
  screen('/settings/people', 'people.read', () => import('./screens/settings/people.tsx')),
  screen('/settings/account', 'workspace.read', () => import('./screens/settings/account.tsx')),
  screen('/settings/audit', 'audit.read', () => import('./screens/settings/audit.tsx')),
]

/** The named parts of its address, such as `campaign_id`. */
type ScreenParams = Readonly<Record<string, string>>

/** A screen that is loaded when it is shown, to people who have the permission. With another id in the address it begins anew. */
function screen<Params extends ScreenParams>(
  path: string,
  needs: Permission,
  load: () => Promise<{ readonly default: FunctionComponent<Params> }>,
): Screen {
  const Loaded = loadScreen(load, Page) as FunctionComponent<ScreenParams>
  const Guarded = () => {
    const { params } = useRoute()
    return useWorkspace().may(needs) ? <Loaded key={JSON.stringify(params)} {...params} /> : <NotAllowed />
  }
  return { path, needs, component: Guarded }
}

interface WorkspacePagesProps {
  readonly workspace: SessionWorkspace
  readonly session: SessionBody
  readonly onSession: (session: SessionBody | null) => void
}

export function WorkspacePages({ workspace, session, onSession }: WorkspacePagesProps) {
  const { client, gate } = useData()
  const isSignedOut = useGate()
  const signOut = async () => {
    await client.delete('/v1/session', { asksToSignIn: false }).catch(() => {})
    onSession(null)
  }
  const signedIn = (again: SessionBody) => {
    onSession(again)
    gate.open()
  }
  const live = useNewLive()
  return (
    <WorkspaceContext.Provider value={workspace}>
      <LiveContext.Provider value={live}>
        <ScreenPathsContext.Provider value={SCREENS}>
          <Frame signOut={() => void signOut()} banners={<Stale />}>
            <Router>
              {SCREENS.map(({ path, component }) => (
                <Route key={path} path={path} component={component} />
              ))}
              <Route default component={NoScreen} />
            </Router>
          </Frame>
        </ScreenPathsContext.Provider>
      </LiveContext.Provider>
      {isSignedOut && (
        <Dialog title={frameText.signInAgain}>
          <p>{frameText.signInAgainLead}</p>
          <SignInForm email={session.person.email} onSignedIn={signedIn} />
        </Dialog>
      )}
    </WorkspaceContext.Provider>
  )
}

function useGate(): boolean {
  const { gate } = useData()
  const [isClosed, setClosed] = useState(gate.isClosed)
  useEffect(() => gate.subscribe(() => setClosed(gate.isClosed)), [gate])
  return isClosed
}

function NotAllowed() {
  const { role } = useWorkspace()
  return (
    <Page title={frameText.notAllowed} lead={frameText.notAllowedLead(role)}>
      {null}
    </Page>
  )
}

function NoScreen() {
  const { page } = useWorkspace()
  return (
    <Page title={frameText.notFound} lead={frameText.notFoundLead}>
      <p>
        <LinkButton href={page()}>{frameText.toHome}</LinkButton>
      </p>
    </Page>
  )
}
