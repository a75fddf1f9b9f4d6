// A form that sends its values to an operation. What the server refuses stands beside its field, in the server's words; nothing that was
// typed is lost.
import { createContext, type ComponentChildren } from 'preact'
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Fault } from '../../../src/core/app-error.ts'
import { ApiError } from '../../data/api-error.ts'
import { formText } from '../../texts/form.ts'
import { Notice } from '../content/notice.tsx'
import { Button, type ButtonKind } from './button.tsx'

interface FormState {
  readonly faults: readonly Fault[]
  /** Tells the form that a field shows its own fault. Returns how to take it back. */
  readonly claim: (name: string) => () => void
}

const FormContext = createContext<FormState | undefined>(undefined)

/** The fault of a field of the form around it, by its path in the body: `smtp.host`. */
export function useFault(name: string): string | undefined {
  const form = useContext(FormContext)
  const claim = form?.claim
  useLayoutEffect(() => claim?.(name), [claim, name])
  const faults = form?.faults.filter(({ field }) => field === name) ?? []
  return faults.length > 0 ? faults.map(({ problem }) => problem).join('; ') : undefined
}

interface ShownFaultsProps {
  readonly faults: readonly Fault[]
  readonly children: ComponentChildren
}

/** Shows faults beside their fields where no single form sends them, such as in the steps of an editor. */
export function ShownFaults({ faults, children }: ShownFaultsProps) {
  return <FormContext.Provider value={{ faults, claim: CLAIMS_NOTHING }}>{children}</FormContext.Provider>
}

const CLAIMS_NOTHING = () => () => {}

interface FormProps {
  /** Sends what was typed. Throws the refusal. */
  readonly send: () => Promise<unknown>
  /** The words of its button: a verb and its object. */
  readonly submit: string
  readonly submitKind?: ButtonKind
  readonly isDisabled?: boolean
  /** Shown beside the button, such as one that cancels. */
  readonly others?: ComponentChildren
  /** Puts the buttons to the right, as in dialogs. */
  readonly isDialog?: boolean
  readonly children: ComponentChildren
}

export function Form({ send, submit, submitKind = 'main', isDisabled, others, isDialog = false, children }: FormProps) {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Error | undefined>(undefined)
  const element = useRef<HTMLFormElement>(null)
  const claimed = useRef(new Map<string, number>()).current
  const [claim] = useState(() => (name: string) => {
    claimed.set(name, (claimed.get(name) ?? 0) + 1)
    return () => void claimed.set(name, (claimed.get(name) ?? 1) - 1)
  })
  useEffect(() => {
    if (error) element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [error])
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isBusy) return
    setBusy(true)
    setError(undefined)
    try {
      await send()
    } catch (refusal) {
      setError(refusal as Error)
    } finally {
      setBusy(false)
    }
  }
  const faults = error instanceof ApiError ? error.details : []
  return (
    <FormContext.Provider value={{ faults, claim }}>
      <form class="form" ref={element} noValidate onSubmit={(event) => void onSubmit(event)}>
        {children}
        {error && <Refusal error={error} isShown={(name) => (claimed.get(name) ?? 0) > 0} />}
        <div class={isDialog ? 'form-end right' : 'form-end'}>
          {isDialog && others}
          <Button type="submit" kind={submitKind} isBusy={isBusy} isDisabled={isDisabled ?? false}>
            {isBusy ? formText.busy : submit}
          </Button>
          {!isDialog && others}
        </div>
      </form>
    </FormContext.Provider>
  )
}

/** What no field shows by itself. */
function Refusal({ error, isShown }: { readonly error: Error; readonly isShown: (name: string) => boolean }) {
  const faults = error instanceof ApiError ? error.details : []
  const others = faults.filter(({ field }) => !isShown(field))
  const isBesideFields = faults.length > 0 && others.length === 0
  return (
    <Notice kind="bad" isAlert>
      {isBesideFields ? formText.faults(faults.length) : error.message}
      {others.length > 0 && faults.length > 1 && (
        <ul>
          {others.map(({ field, problem }) => (
            <li key={field}>
              <code>{field}</code> {problem}
            </li>
          ))}
        </ul>
      )}
    </Notice>
  )
}
