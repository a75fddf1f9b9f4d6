// Shows code, or lets one edit it, or what differs between two texts. Its script is loaded when it is first shown.
import { useEffect, useRef, useState } from 'preact/hooks'
import { PartNotLoaded } from '../../../components/frame/load-screen.tsx'
import type { CodeFault, CodeView } from './code-mirror.ts'

interface CodeEditorProps {
  readonly text: string
  readonly label: string
  /** Without it, the code cannot be changed. */
  readonly onChange?: (text: string) => void
  readonly faults?: readonly CodeFault[]
  /** Shows what differs from this text. */
  readonly original?: string
  /** Where the cursor shall be; each object once. */
  readonly goTo?: CodeFault | undefined
  /** As tall as its content. */
  readonly isLow?: boolean
}

export function CodeEditor({ text, label, onChange, faults = NONE, original, goTo, isLow = false }: CodeEditorProps) {
  const element = useRef<HTMLDivElement>(null)
  const [view, setView] = useState<CodeView | undefined>(undefined)
  const [error, setError] = useState<Error | undefined>(undefined)
  const latest = useRef({ text, onChange })
  latest.current = { text, onChange }
  // What was typed and has not come back as `text` yet: until then an older `text` must not replace it.
  const typed = useRef<string | undefined>(undefined)
  const isEditable = onChange !== undefined
  useEffect(() => {
    const place = element.current
    if (!place) return
    let made: CodeView | undefined
    let isGone = false
    const onTyped = (changed: string) => {
      typed.current = changed
      latest.current.onChange?.(changed)
    }
    const open = (script: typeof import('./code-mirror.ts')) => {
      if (isGone) return
      made = new script.CodeView({
        root: place.shadowRoot ?? place.attachShadow({ mode: 'open' }),
        text: latest.current.text,
        label,
        onChange: isEditable ? onTyped : undefined,
        ...(original !== undefined && { original }),
      })
      setView(made)
    }
    import('./code-mirror.ts').then(open, setError)
    return () => {
      isGone = true
      made?.close()
    }
  }, [label, isEditable, original])
  useEffect(() => {
    if (typed.current === text) typed.current = undefined
    else if (view && typed.current === undefined) view.text = text
  }, [view, text])
  useEffect(() => {
    if (view) view.faults = faults
  }, [view, faults])
  useEffect(() => {
    if (view && goTo) view.goTo(goTo)
  }, [view, goTo])
  if (error) return <PartNotLoaded error={error} />
  return <div class={isLow ? 'code-editor low' : 'code-editor'} ref={element} />
}

const NONE: readonly CodeFault[] = []
