// What is typed of a campaign, and how it is saved: created the first time, then changed, unless somebody else has changed it meanwhile.
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { Fault } from '../../../../src/core/app-error.ts'
import { toast } from '../../../components/content/toasts.tsx'
import { useAddress } from '../../../data/address.ts'
import { ApiError } from '../../../data/api-error.ts'
import { getExactly, patchExactly } from '../../../data/exact.ts'
import { keepDraft, typedSince, useDraft, type FormDraft } from '../../../data/forms/drafts.ts'
import { useData } from '../../../data/queries.ts'
import { useSession, useWorkspace } from '../../../data/session.ts'
import { campaignEditorText } from '../../../texts/campaigns/editor.ts'
import { isConflict } from '../../segments/segment.tsx'
import {
  fromCampaign,
  toDeliveryFields,
  toGoalFields,
  type CampaignForm,
  type EditedCampaign,
} from './campaign-form.ts'

export interface CampaignDraft {
  readonly form: CampaignForm
  readonly change: (changes: Partial<CampaignForm>) => void
  /** Undefined until it is saved for the first time. */
  readonly campaign: EditedCampaign | undefined
  readonly isChanged: boolean
  readonly isSaving: boolean
  /** Of the last save, or of the check before a start. */
  readonly faults: readonly Fault[]
  readonly setFaults: (faults: readonly Fault[]) => void
  /** Why the last save was refused as a whole. */
  readonly error: Error | undefined
  /** Whether it is saved. A refusal shows itself. */
  readonly save: () => Promise<boolean>
  /** What somebody else has saved meanwhile. */
  readonly other: EditedCampaign | undefined
  readonly keepMine: () => Promise<void>
  readonly takeTheirs: () => void
  readonly closeConflict: () => void
}

/** What each step gets. */
export interface StepProps {
  readonly draft: CampaignDraft
}

/** The key of what is typed of a campaign. `from`: the one that a new one is a copy of. */
export function campaignDraftKey(from: string | undefined): string {
  return `campaign ${from ?? ''}`
}

export interface Beginning {
  /** Tells a copy from a new campaign. */
  readonly key: string
  readonly campaign: EditedCampaign | undefined
  readonly saved: CampaignForm
}

export function useCampaignDraft({ key, campaign, saved }: Beginning): CampaignDraft {
  const { client } = useData()
  const [faults, setFaults] = useState<readonly Fault[]>([])
  const [error, setError] = useState<Error | undefined>(undefined)
  const [isSaving, setSaving] = useState(false)
  const [other, setOther] = useState<EditedCampaign | undefined>(undefined)
  const draft = useDraft(key, saved)
  const { value: form, isChanged } = draft
  useEffect(() => {
    // The only sender, which a new campaign begins with, may become known after the first letters were typed.
    const typed = draft.latest()
    if (campaign || !isChanged || typed.senderId !== '' || saved.senderId === '') return
    draft.change({ ...typed, senderId: saved.senderId })
  })
  const { create, change, show } = useCampaignCalls(campaign, draft)
  const refuse = async (refusal: unknown) => {
    if (campaign && isConflict(refusal)) {
      const { campaign_id } = campaign
      setOther(await getExactly(client, '/core-services/v1/campaigns/:campaign_id', { path: { campaign_id } }))
    } else if (refusal instanceof ApiError && refusal.details.length > 0) setFaults(refusal.details)
    else setError(refusal as Error)
  }
  const save = async () => {
    if (isSaving) return false
    setSaving(true)
    setError(undefined)
    try {
      await (campaign ? change(form, form.basis) : create(form))
      setFaults([])
      return true
    } catch (refusal) {
      await refuse(refusal)
      return false
    } finally {
      setSaving(false)
    }
  }
  return {
    form,
    change: (changes) => draft.change({ ...form, ...changes }),
    campaign,
    isChanged,
    isSaving,
    faults,
    setFaults,
    error,
    save,
    other,
    keepMine: () => change(form, other?.updated_at ?? form.basis),
    takeTheirs: () => {
      if (!other) return
      show(other)
      draft.forget()
    },
    closeConflict: () => setOther(undefined),
  }
}

function useCampaignCalls(campaign: EditedCampaign | undefined, draft: FormDraft<CampaignForm>) {
  const { client, queries } = useData()
  const { person } = useSession()
  const { page } = useWorkspace()
  const { route } = useLocation()
  const address = useAddress()
  const [idempotencyKey, setKey] = useState(newKey)
  const show = (saved: EditedCampaign) => {
    queries.setQueryData([client.workspace, 'campaign', saved.campaign_id], saved)
  }
  const create = async (form: CampaignForm) => {
    const fields = { name: form.name, platforms: ['EMAIL'], conversion_goals: toGoalFields(form) }
    const body = { ...fields, created_by: person.email, delivery: toDeliveryFields(form) }
    const { campaign_id, updated_at: basis = '' } = await client.post('/core-services/v1/campaigns', {
      body,
      idempotencyKey,
    })
    setKey(newKey())
    const made = page('campaigns', campaign_id, 'edit')
    const typed = draft.latest()
    if (typedSince(form, typed)) keepDraft(made, campaignDraftKey(undefined), { ...typed, basis })
    draft.forget()
    toast(campaignEditorText.saved)
    const step = address.get('step')
    route(`${made}${step === undefined ? '' : `?step=${step}`}`, true)
  }
  const change = async (form: CampaignForm, seenAt: string) => {
    const { campaign_id = '', state } = campaign ?? {}
    const isDraft = state === 'draft'
    const body = {
      name: form.name,
      conversion_goals: toGoalFields(form),
      ...(isDraft && { delivery: toDeliveryFields(form) }),
      updated_by: person.email,
      if_updated_at: seenAt,
    }
    const saved = await patchExactly(client, '/core-services/v1/campaigns/:campaign_id', {
      path: { campaign_id },
      body,
    })
    show(saved)
    draft.settle(form, fromCampaign(saved))
    toast(isDraft ? campaignEditorText.saved : campaignEditorText.savedStarted)
  }
  return { create, change, show }
}

/** A repeated request with it creates nothing twice. */
function newKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-')
}
