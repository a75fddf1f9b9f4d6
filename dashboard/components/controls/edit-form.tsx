// A form that changes something stored. If somebody else saves another version meanwhile, it shows both, and nothing typed is lost.
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { ApiError } from '../../data/api-error.ts'
import type { Edit } from '../../data/forms/edits.ts'
import { conflictText, editText } from '../../texts/form.ts'
import { Notice } from '../content/notice.tsx'
import { toast } from '../content/toasts.tsx'
import { Button } from './button.tsx'
import { BothVersions } from './conflict-dialog.tsx'
import { Form } from './form.tsx'

interface EditFormProps<Values extends object> {
  readonly edit: Edit<Values>
  /** What each member is called, in the comparison of two versions. */
  readonly labels: { readonly [Name in keyof Values]: string }
  /** Sends `edit.changes` with `edit.seen`. Throws the refusal. */
  readonly save: () => Promise<unknown>
  /** Fetches again what is stored. */
  readonly refresh: () => Promise<unknown>
  readonly submit: string
  /** Said when it is saved. */
  readonly done: string
  /** Whether something is typed that `edit` does not know, such as a secret. */
  readonly hasMore?: boolean
  readonly onSaved?: () => void
  readonly children: ComponentChildren
}

export function EditForm<Values extends object>({
  edit,
  labels,
  save,
  refresh,
  submit,
  done,
  hasMore = false,
  onSaved,
  children,
}: EditFormProps<Values>) {
  const send = async () => {
    const sent = edit.changes
    try {
      await save()
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) await refresh()
      throw error
    }
    await refresh()
    edit.settle(sent)
    onSaved?.()
    toast(done)
  }
  const conflict = useRef<HTMLDivElement>(null)
  const isOutdated = edit.conflicts.length > 0
  // In a long form the two versions may be out of sight.
  const compare = () => conflict.current?.scrollIntoView({ block: 'center' })
  return (
    <Form
      send={send}
      submit={submit}
      isDisabled={isOutdated || !(edit.isChanged || hasMore)}
      others={
        edit.isChanged && (
          <Button onClick={isOutdated ? compare : edit.forget}>
            {isOutdated ? editText.compare : editText.discard}
          </Button>
        )
      }
    >
      {children}
      {isOutdated && (
        <div ref={conflict}>
          <Conflict edit={edit} labels={labels} />
        </div>
      )}
    </Form>
  )
}

function Conflict<Values extends object>({ edit, labels }: Pick<EditFormProps<Values>, 'edit' | 'labels'>) {
  const { conflicts, values, stored, keepMine, forget } = edit
  const parts = conflicts.map((name) => ({
    title: labels[name],
    mine: shown(values[name]),
    theirs: shown(stored[name]),
  }))
  return (
    <Notice kind="warn" isAlert>
      <p>
        <strong>{conflictText.title}.</strong> {editText.conflictLead}
      </p>
      <BothVersions parts={parts} />
      <div class="row">
        <Button onClick={keepMine}>{conflictText.keepMine}</Button>
        <Button onClick={forget}>{conflictText.takeTheirs}</Button>
      </div>
    </Notice>
  )
}

function shown(value: unknown): string {
  if (typeof value === 'boolean') return value ? editText.on : editText.off
  return typeof value === 'string' && value !== '' ? value : editText.nothing
}
