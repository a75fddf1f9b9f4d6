// Somebody saved a version while one was editing: shows what differs, and lets one choose. Fields that only they changed stay theirs.
import { ConflictDialog } from '../../../components/controls/conflict-dialog.tsx'
import { templateText } from '../../../texts/templates.ts'
import { ContentDifference, valueOf } from './field-differences.tsx'
import { changedFields, mergeFields, toFields, type TemplateAnswer, type TemplateFields } from './template-fields.ts'

/** A version of somebody else, and what both began with. */
export interface FoundConflict {
  readonly theirs: TemplateAnswer
  readonly base: TemplateFields
}

interface ConflictProps extends FoundConflict {
  readonly mine: TemplateFields
  readonly keepMine: () => Promise<unknown>
  readonly discardMine: () => void
  readonly onClose: () => void
}

export function Conflict({ theirs, mine, base, discardMine, ...acts }: ConflictProps) {
  const before = toFields(theirs)
  const after = mergeFields(base, mine, before)
  const changed = changedFields(before, after)
  const parts = changed
    .filter((name) => name !== 'email_content')
    .map((name) => ({ title: templateText.fields[name], mine: valueOf(after, name), theirs: valueOf(before, name) }))
  return (
    <ConflictDialog
      savedAt={theirs.updated_at}
      savedBy={theirs.updated_by}
      parts={parts}
      takeTheirs={discardMine}
      {...acts}
    >
      {changed.includes('email_content') && (
        <ContentDifference before={before.email_content} after={after.email_content} lead={templateText.mineInGreen} />
      )}
    </ConflictDialog>
  )
}
