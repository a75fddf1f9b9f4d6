// Dialogs over the page: the browser's own, which keeps the focus inside and closes on Escape.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { formText } from '../../texts/form.ts'
import { Button } from './button.tsx'
import { TextField } from './field.tsx'
import { Form } from './form.tsx'

interface DialogProps {
  readonly title: string
  /** Called when it is closed by Escape or its button. Without it, it cannot be closed. */
  readonly onClose?: (() => void) | undefined
  readonly isWide?: boolean
  readonly children: ComponentChildren
}

/** Open as long as it is rendered. */
export function Dialog({ title, onClose, isWide = false, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = element.current
    const opener = document.activeElement
    dialog?.showModal()
    return () => {
      dialog?.close()
      // The browser gives the focus back only while the dialog is in the page.
      if (opener instanceof HTMLElement) opener.focus({ preventScroll: true })
    }
  }, [])
  const onCancel = (event: Event) => {
    if (event.target !== element.current) return
    event.preventDefault()
    onClose?.()
  }
  return (
    <dialog class={isWide ? 'wide' : undefined} ref={element} aria-labelledby={id} onCancel={onCancel}>
      <div class="dialog-body">
        <div class="dialog-head">
          <h2 id={id}>{title}</h2>
          {onClose && <Button kind="quiet" icon="x" label={formText.close} onClick={onClose} />}
        </div>
        {children}
      </div>
    </dialog>
  )
}

interface ConfirmDialogProps {
  /** As the button that opened it says. */
  readonly title: string
  readonly children: ComponentChildren
  /** What one must type, for what cannot be undone. */
  readonly word?: string
  readonly isDangerous?: boolean
  readonly act: () => Promise<unknown>
  readonly onClose: () => void
}

/** Asks before something happens. Closes when it has happened; a refusal stays. */
export function ConfirmDialog({
  title,
  children,
  word,
  isDangerous = word !== undefined,
  act,
  onClose,
}: ConfirmDialogProps) {
  const [typed, setTyped] = useState('')
  const send = async () => {
    await act()
    onClose()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        isDialog
        send={send}
        submit={title}
        submitKind={isDangerous ? 'danger main' : 'main'}
        isDisabled={word !== undefined && typed !== word}
        others={<Button onClick={onClose}>{formText.cancel}</Button>}
      >
        <div class="stack">{children}</div>
        {word !== undefined && (
          <TextField name="confirmation" label={formText.typeToConfirm(word)} value={typed} onInput={setTyped} isCode />
        )}
      </Form>
    </Dialog>
  )
}
