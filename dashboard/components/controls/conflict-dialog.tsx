// Two versions of the same, after somebody else saved first: shows both, and lets one choose.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { conflictText } from '../../texts/form.ts'
import { Failure } from '../content/shown.tsx'
import { Time } from '../content/time.tsx'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'

export interface ConflictPart {
  /** What the two say about, such as «Name». */
  readonly title: string
  readonly mine: string
  readonly theirs: string
}

interface ConflictDialogProps {
  /** When and, if it is known, by whom the other version was saved. */
  readonly savedAt: string
  readonly savedBy?: string | null | undefined
  readonly parts: readonly ConflictPart[]
  /** Saves what was typed over the other version. */
  readonly keepMine: () => Promise<unknown>
  /** Throws away what was typed. */
  readonly takeTheirs: () => void
  readonly onClose: () => void
  /** What differs besides, shown in another way. */
  readonly children?: ComponentChildren
}

export function ConflictDialog({ savedAt, savedBy, parts, children, ...acts }: ConflictDialogProps) {
  const { keepMine, takeTheirs, onClose } = acts
  const [error, setError] = useState<Error | undefined>(undefined)
  const differing = parts.filter(({ mine, theirs }) => mine !== theirs)
  const keep = () => keepMine().then(onClose, (refusal: unknown) => setError(refusal as Error))
  const take = () => {
    takeTheirs()
    onClose()
  }
  return (
    <Dialog title={conflictText.title} onClose={onClose} isWide>
      <p>
        {conflictText.lead} <Time at={savedAt} />
        {savedBy ? ` ${conflictText.by(savedBy)}` : ''}.
      </p>
      <BothVersions parts={differing} />
      {differing.length === 0 && !children && <p class="quiet-text">{conflictText.noDifference}</p>}
      {children}
      {error && <Failure error={error} />}
      <div class="form-end right">
        <Button onClick={onClose}>{conflictText.editOn}</Button>
        <Button onClick={take}>{conflictText.takeTheirs}</Button>
        <Button kind="main" onClick={() => void keep()}>
          {conflictText.keepMine}
        </Button>
      </div>
    </Dialog>
  )
}

export function BothVersions({ parts }: Pick<ConflictDialogProps, 'parts'>) {
  return (
    <dl class="versions">
      {parts.map(({ title, mine, theirs }) => (
        <div class="version" key={title}>
          <dt>{title}</dt>
          <dd>
            <Version label={conflictText.mine}>{mine}</Version>
          </dd>
          <dd>
            <Version label={conflictText.theirs}>{theirs}</Version>
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Version({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    <>
      <span class="note">{label}</span>
      <span>{children}</span>
    </>
  )
}
