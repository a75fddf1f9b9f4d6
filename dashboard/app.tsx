// The addresses of the dashboard, and the screen that each of them shows. Screens are loaded when they are shown.
import { useEffect, useState } from 'preact/hooks'
import { ErrorBoundary, LocationProvider, Route, Router, useLocation } from 'preact-iso'
import { Empty } from './components/content/empty.tsx'
import { Failure } from './components/content/shown.tsx'
import { LinkButton } from './components/controls/button.tsx'
import { Door } from './components/frame/door.tsx'
import { loadScreen } from './components/frame/load-screen.tsx'
import { pageAddress } from './data/address.ts'
import { useData } from './data/queries.ts'
import { SessionContext, SessionRefreshContext, type SessionBody } from './data/session.ts'
import SignIn from './screens/door/sign-in.tsx'
import { frameText } from './texts/frame.ts'
import { WorkspacePages } from './workspace-pages.tsx'

const AccessLink = loadScreen(() => import('./screens/door/access-link.tsx'), Door)

export function App() {
  return (
    <LocationProvider scope="/dashboard">
      <ErrorBoundary>
        <Pages />
      </ErrorBoundary>
    </LocationProvider>
  )
}

function Pages() {
  const { client } = useData()
  const [session, setSession] = useState<SessionBody | null | undefined>(undefined)
  const [error, setError] = useState<Error | undefined>(undefined)
  const ask = () => {
    setError(undefined)
    client.get('/v1/session').then(({ session: found }) => setSession(found), setError)
  }
  useEffect(ask, [client])
  const refresh = async () => {
    const { session: found } = await client.get('/v1/session')
    if (found) setSession(found)
  }
  if (error) {
    return (
      <Door title={frameText.product}>
        <Failure error={error} again={ask} />
      </Door>
    )
  }
  if (session === undefined) return null
  return (
    <SessionContext.Provider value={session ?? undefined}>
      <SessionRefreshContext.Provider value={refresh}>
        <Router>
          <Route path="/dashboard/setup" component={AccessLink} onSignedIn={setSession} />
          <Route path="/dashboard/invitation" component={AccessLink} onSignedIn={setSession} />
          <Route path="/dashboard/reset" component={AccessLink} onSignedIn={setSession} />
          <Route path="/dashboard/sign-in" component={SignIn} onSignedIn={setSession} />
          <Route path="/dashboard" component={Start} session={session} />
          <Route path="/dashboard/:workspace" component={Inside} session={session} onSession={setSession} />
          <Route path="/dashboard/:workspace/*" component={Inside} session={session} onSession={setSession} />
          <Route default component={NoSuchPage} />
        </Router>
      </SessionRefreshContext.Provider>
    </SessionContext.Provider>
  )
}

/** Leads to the first workspace, or to signing in. */
function Start({ session }: { readonly session: SessionBody | null }) {
  const { route } = useLocation()
  const [first] = session?.workspaces ?? []
  const to = first ? pageAddress(first.workspace_id) : '/dashboard/sign-in'
  useEffect(() => {
    if (!session || first) route(to, true)
  }, [session, first, to, route])
  if (!session || first) return null
  return (
    <Door title={frameText.noWorkspace}>
      <p>{frameText.noWorkspaceLead}</p>
    </Door>
  )
}

interface InsideProps {
  readonly workspace: string
  readonly session: SessionBody | null
  readonly onSession: (session: SessionBody | null) => void
}

function Inside({ workspace, session, onSession }: InsideProps) {
  const { url, route } = useLocation()
  const isOutside = !session
  useEffect(() => {
    if (isOutside) route(`/dashboard/sign-in?to=${encodeURIComponent(url)}`, true)
  }, [isOutside, url, route])
  if (!session) return null
  const found = session.workspaces.find(({ workspace_id: id }) => id === workspace)
  return found ? (
    <WorkspacePages key={workspace} workspace={found} session={session} onSession={onSession} />
  ) : (
    <NoSuchPage />
  )
}

export function NoSuchPage() {
  return (
    <main class="door">
      <Empty
        icon="circle-alert"
        title={frameText.notFound}
        action={<LinkButton href="/dashboard">{frameText.toHome}</LinkButton>}
      >
        {frameText.notFoundLead}
      </Empty>
    </main>
  )
}
