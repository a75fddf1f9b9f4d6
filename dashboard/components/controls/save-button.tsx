// A button that saves a file which the server prepares. A refusal stands beside it.
import { useState } from 'preact/hooks'
import { Notice } from '../content/notice.tsx'
import { Button } from './button.tsx'

interface SaveButtonProps {
  readonly save: () => Promise<void>
  readonly children: string
}

export function SaveButton({ save, children }: SaveButtonProps) {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Error | undefined>(undefined)
  const onClick = async () => {
    setBusy(true)
    setError(undefined)
    await save().catch(setError)
    setBusy(false)
  }
  return (
    <>
      {error && (
        <Notice kind="bad" isAlert>
          {error.message}
        </Notice>
      )}
      <Button icon="download" isBusy={isBusy} onClick={() => void onClick()}>
        {children}
      </Button>
    </>
  )
}
