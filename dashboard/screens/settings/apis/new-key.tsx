// The dialog that generates a new key of a tile and shows it once.
import { useState } from 'preact/hooks'
import type { KeyTile } from '../../../../src/core/accounts/key-tile.ts'
import { CodeBlock, Copied } from '../../../components/content/copy.tsx'
import { Notice } from '../../../components/content/notice.tsx'
import { Button } from '../../../components/controls/button.tsx'
import { Dialog } from '../../../components/controls/dialog.tsx'
import { SelectField, TextField } from '../../../components/controls/field.tsx'
import { Form } from '../../../components/controls/form.tsx'
import { useData } from '../../../data/queries.ts'
import { useWorkspace } from '../../../data/session.ts'
import { formText } from '../../../texts/form.ts'
import { apisText } from '../../../texts/settings.ts'
import { curlOf } from './curl.ts'

interface NewKeyProps {
  readonly tile: KeyTile
  readonly onClose: () => void
  readonly onMade: (key: string) => void
}

/** Warns as the API document does, asks to type the workspace id, and shows the key once. */
export function NewKey({ tile, onClose, onMade }: NewKeyProps) {
  const { client } = useData()
  const { id } = useWorkspace()
  const [typed, setTyped] = useState('')
  const [hours, setHours] = useState('0')
  const [made, setMade] = useState<string | undefined>(undefined)
  const send = async () => {
    const body = { old_key_valid_hours: Number(hours) }
    const { key } = await client.post('/v1/workspaces/:Workspace_ID/keys/:tile', { path: { tile }, body })
    setMade(key)
    onMade(key)
  }
  if (made !== undefined) {
    return (
      <Dialog title={apisText.tiles[tile].title}>
        <Notice kind="warn">{apisText.shownOnce}</Notice>
        <Copied text={made} what={apisText.generate} />
        {tile === 'data' && (
          <>
            <p class="note">{apisText.curlNew}</p>
            <CodeBlock text={curlOf(id, made)} what="curl" />
          </>
        )}
        <div class="form-end right">
          <Button kind="main" onClick={onClose}>
            {apisText.done}
          </Button>
        </div>
      </Dialog>
    )
  }
  return (
    <Dialog title={apisText.generate} onClose={onClose}>
      <Form
        isDialog
        send={send}
        submit={apisText.generate}
        submitKind="danger main"
        isDisabled={typed !== id}
        others={<Button onClick={onClose}>{formText.cancel}</Button>}
      >
        <p class="quiet-text">{apisText.tiles[tile].title}</p>
        <Notice kind="warn">{apisText.warning}</Notice>
        <SelectField
          name="old_key_valid_hours"
          label={apisText.overlap}
          value={hours}
          options={apisText.overlaps}
          onChange={setHours}
        />
        <TextField name="confirmation" label={formText.typeToConfirm(id)} value={typed} onInput={setTyped} isCode />
      </Form>
    </Dialog>
  )
}
