// A campaign in words: for the review, and to compare two versions of it.
import type { AudiencePart } from '../../../../src/core/delivery/delivery.ts'
import type { SegmentCondition } from '../../../../src/core/segments/condition.ts'
import { campaignEditorText } from '../../../texts/campaigns/editor.ts'
import { formatInstant } from '../../../texts/format.ts'
import { useQuery } from '../../../data/queries.ts'
import { answerOf, useNames } from '../../segments/conditions/condition-choices.ts'
import { sentenceOf, type Names } from '../../segments/conditions/sentence.ts'
import type { CampaignForm, GoalForm } from './campaign-form.ts'
import { TEMPLATE_CHOICES } from './choices.ts'
import { toComparison } from '../../segments/conditions/leaf-form.ts'
import type { EditorStep } from './steps.ts'

export interface SummaryPart {
  readonly title: string
  readonly text: string
  readonly step: EditorStep
}

const words = campaignEditorText.summaryParts

/** `names`: of segments, campaigns, templates and senders by their ids. */
export function summaryOf(form: CampaignForm, names: Names): readonly SummaryPart[] {
  const nameOf = (id: string) => names.get(id) ?? id
  const partText = (part: AudiencePart) => (typeof part === 'string' ? nameOf(part) : sentenceOf(part, names))
  const consent = campaignEditorText.consents.find(({ value }) => value === form.consent)?.label ?? form.consent
  const templates = form.variations.map(({ name, share, templateId, version }) => {
    const own = `${nameOf(templateId)}${version === '' ? '' : ` (${campaignEditorText.version.toLowerCase()} ${version})`}`
    return form.variations.length === 1 ? own : `${name}, ${campaignEditorText.percent(share)}: ${own}`
  })
  const tracking = [
    form.tracksOpens && campaignEditorText.opensWord,
    form.tracksClicks && campaignEditorText.clicksWord,
  ]
  const control = campaignEditorText.percent(form.control)
  const coupons = campaignEditorText.couponsOptions.find(({ value }) => value === form.couponsWhenEmpty)?.label ?? ''
  return [
    { title: words.name, text: form.name, step: 'audience' },
    { title: words.include, text: form.include.map(partText).join(', '), step: 'audience' },
    { title: words.exclude, text: form.exclude.map(partText).join(', '), step: 'audience' },
    { title: words.consent, text: consent, step: 'audience' },
    { title: words.category, text: form.category, step: 'audience' },
    {
      title: words.control,
      text: form.hasGlobalControl ? control : `${control}, ${campaignEditorText.noGlobal}`,
      step: 'audience',
    },
    { title: words.sender, text: form.senderId === '' ? '' : nameOf(form.senderId), step: 'content' },
    { title: words.templates, text: templates.join('; '), step: 'content' },
    { title: words.tracking, text: tracking.filter(Boolean).join(', '), step: 'content' },
    { title: words.coupons, text: coupons, step: 'content' },
    { title: words.goals, text: form.goals.map(goalText).join('; '), step: 'goals' },
    {
      title: words.start,
      text: form.when === 'now' ? campaignEditorText.atOnce : form.startAt.replace('T', ' '),
      step: 'schedule',
    },
    {
      title: words.limits,
      text: [
        form.isCapped ? campaignEditorText.cappedWord : campaignEditorText.uncappedWord,
        campaignEditorText.limits(form.giveUpHours, form.graceHours),
      ].join(', '),
      step: 'schedule',
    },
  ]
}

function goalText({ name, event, where, hours }: GoalForm): string {
  const details =
    where.length === 0 ? '' : `, ${sentenceOf({ event, did: true, where: where.map(toComparison) }, new Map())}`
  return `${name}: ${event} (${hours} h)${details}`
}

/** The names of what campaigns name. */
export function useCampaignNames(forms: readonly CampaignForm[]): Names {
  const parts = forms.flatMap(({ include, exclude }) => [...include, ...exclude])
  const conditions = parts.map((part): SegmentCondition => (typeof part === 'string' ? { segment: part } : part))
  const named = useNames(conditions)
  const senders = useSenders()
  const ids = [...new Set(forms.flatMap(({ variations }) => variations.map(({ templateId }) => templateId)))]
  const templates = useQuery({
    key: ['template names', ids],
    ask: (client, signal) => {
      const known = ids.filter((id) => id !== '')
      return Promise.all(
        known.map(async (id) => [id, (await TEMPLATE_CHOICES.get(client, id, signal))?.title ?? id] as const),
      )
    },
  })
  return new Map([
    ...named,
    ...senders.map(({ sender_id: id, name, from_email: address }) => [id, `${name} (${address})`] as const),
    ...(answerOf(templates) ?? []),
  ])
}

/** The senders of the workspace, newest first; none until they are known. */
export function useSenders() {
  const senders = useQuery({
    key: ['senders'],
    ask: (client, signal) => client.get('/core-services/v1/senders', { signal }),
    topics: ['audit'],
  })
  return answerOf(senders)?.data ?? []
}

/** When a campaign starts, for people. */
export function startText(startsAt: string | null | undefined, zone: string): string | undefined {
  return startsAt === null || startsAt === undefined ? undefined : formatInstant(startsAt, zone)
}
