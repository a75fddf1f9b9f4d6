// The home page of a workspace: whether events arrive, which campaigns are under way, and what needs somebody. In a new workspace, the
// first steps.
import { Shown } from '../components/content/shown.tsx'
import { Page } from '../components/frame/page.tsx'
import { useWorkspace } from '../data/session.ts'
import { frameText } from '../texts/frame.ts'
import { homeText } from '../texts/home.ts'
import { Attention } from './home/attention.tsx'
import { FirstSteps } from './home/first-steps.tsx'
import { useNewestUser } from './home/newest-user.ts'
import { Now } from './home/now.tsx'
import { UnderWay } from './home/under-way.tsx'

export default function Home() {
  const { id, zone, role, may } = useWorkspace()
  const newest = useNewestUser()
  return (
    <Page title={frameText.home} lead={homeText.lead(role, id, zone)}>
      {may('users.read') ? (
        <Shown of={newest} empty={<FirstSteps />}>
          {() => <Overview />}
        </Shown>
      ) : (
        <Overview />
      )}
    </Page>
  )
}

function Overview() {
  const { may } = useWorkspace()
  return (
    <div class="overview">
      <Now />
      <Attention />
      {may('campaigns.read') && <UnderWay />}
    </div>
  )
}
