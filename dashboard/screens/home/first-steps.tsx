// What to do first in a workspace where nothing has arrived yet. Only steps that the role includes.
import { Card } from '../../components/content/card.tsx'
import { LinkButton } from '../../components/controls/button.tsx'
import { usePageIfAllowed } from '../../data/session.ts'
import { homeText } from '../../texts/home.ts'

/** The pages of the steps, in their order; the first one that the person may see. */
const STEPS = {
  event: [['welcome']],
  keys: [['settings', 'apis']],
  sender: [['settings', 'senders']],
  template: [['templates', 'new'], ['templates']],
  segment: [['segments', 'new'], ['segments']],
  campaign: [['campaigns', 'new'], ['campaigns']],
} as const satisfies Readonly<Record<keyof typeof homeText.steps, readonly (readonly string[])[]>>
type Step = keyof typeof STEPS

export function FirstSteps() {
  const pageIfAllowed = usePageIfAllowed()
  const steps = (Object.keys(STEPS) as Step[]).flatMap((step) => {
    const href = STEPS[step].map((parts) => pageIfAllowed(...parts)).find((address) => address !== undefined)
    return href === undefined ? [] : [{ ...homeText.steps[step], href }]
  })
  return (
    <Card title={homeText.firstSteps} lead={homeText.firstStepsLead} isFlush>
      <ol class="first-steps">
        {[...steps, { ...homeText.reference, href: '/docs' }].map(({ title, lead, action, href }, index) => (
          <li key={href} class="first-step">
            <div class="stack tight">
              <h3>{title}</h3>
              <p class="quiet-text">{lead}</p>
            </div>
            <LinkButton href={href} kind={index === 0 ? 'main' : 'plain'}>
              {action}
            </LinkButton>
          </li>
        ))}
      </ol>
    </Card>
  )
}
