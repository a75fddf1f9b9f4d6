// What has to be corrected in a campaign, all at once, each with the step that mends it.
import type { Fault } from '../../../../src/core/app-error.ts'
import { Notice } from '../../../components/content/notice.tsx'
import { useAddress } from '../../../data/address.ts'
import { campaignEditorText } from '../../../texts/campaigns/editor.ts'
import { stepOfFault } from './steps.ts'

interface FaultsProps {
  readonly faults: readonly Fault[]
  /** Whether there are steps to go to. */
  readonly isDraft: boolean
}

export function Faults({ faults, isDraft }: FaultsProps) {
  const address = useAddress()
  return (
    <Notice kind="bad" isAlert>
      <p>{campaignEditorText.faultsTitle(faults.length)}</p>
      <ul class="faults">
        {faults.map((fault, index) => {
          const step = stepOfFault(fault)
          return (
            <li key={index}>
              {step && isDraft && <a href={address.with({ step })}>{campaignEditorText.step[step]}</a>}{' '}
              <span>
                <code>{fault.field}</code> {fault.problem}
              </span>
            </li>
          )
        })}
      </ul>
    </Notice>
  )
}
