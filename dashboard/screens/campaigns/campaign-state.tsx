// The state of a campaign as a badge. Campaigns that Tidings does not send have the state `none`: others report what they send.
import type { CampaignState } from '../../../src/core/delivery/delivery-changes.ts'
import { Badge, type BadgeKind } from '../../components/content/badge.tsx'
import type { IconName } from '../../icons.ts'
import { campaignsText } from '../../texts/campaigns.ts'

const LOOKS: { readonly [state in CampaignState]: readonly [BadgeKind, IconName] } = {
  draft: ['plain', 'pencil'],
  scheduled: ['accent', 'clock'],
  running: ['accent', 'play'],
  paused: ['warn', 'pause'],
  waiting: ['warn', 'clock'],
  finished: ['good', 'check'],
  overdue: ['bad', 'circle-alert'],
  cancelled: ['plain', 'x'],
  none: ['plain', 'radio'],
}

export function CampaignStateBadge({ state = 'none' }: { readonly state?: CampaignState | undefined }) {
  const [kind, icon] = LOOKS[state]
  return (
    <Badge kind={kind} icon={icon}>
      {campaignsText.states[state]}
    </Badge>
  )
}
