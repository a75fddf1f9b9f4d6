// Sign in, as a page. Leads back to where somebody wanted to go.
import { useLocation } from 'preact-iso'
import { Door } from '../../components/frame/door.tsx'
import { SignInForm } from '../../components/frame/sign-in-form.tsx'
import type { SessionBody } from '../../data/session.ts'
import { doorText } from '../../texts/door.ts'

export default function SignIn({ onSignedIn }: { readonly onSignedIn: (session: SessionBody) => void }) {
  const { query, route } = useLocation()
  const wanted = query['to']
  const enter = (session: SessionBody) => {
    onSignedIn(session)
    // Only to a page of the dashboard: a link from elsewhere must not lead away.
    route(wanted?.startsWith('/dashboard/') ? wanted : '/dashboard', true)
  }
  return (
    <Door title={doorText.signIn} lead={doorText.signInLead}>
      <SignInForm onSignedIn={enter} />
      <p class="note">{doorText.forgotten}</p>
    </Door>
  )
}
