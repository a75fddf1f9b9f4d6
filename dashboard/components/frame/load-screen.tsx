// Loads the script of a screen when it is shown. After an upgrade of the server, the script that this page knows may be gone: then the
// screen, or the part of it that has a script of its own, says so, and a reload gets the newer page.
import type { ComponentChildren, FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { lazy } from 'preact-iso'
import { unreachable } from '../../data/api-error.ts'
import { frameText } from '../../texts/frame.ts'
import { Notice } from '../content/notice.tsx'
import { Failure } from '../content/shown.tsx'
import { Button } from '../controls/button.tsx'

/** A page that has a title. */
type Around = FunctionComponent<{
  readonly title: string
  readonly lead?: string
  readonly children: ComponentChildren
}>

interface LoadedScript<Props> {
  readonly default: FunctionComponent<Props>
}

/** `around`: the page that says why the screen cannot be shown. */
export function loadScreen<Props>(load: () => Promise<LoadedScript<Props>>, around: Around): FunctionComponent<Props> {
  const loadOrSay = () => load().catch((error: unknown) => explain(error, around))
  return lazy<FunctionComponent<Props>>(loadOrSay)
}

async function explain(error: unknown, Page: Around): Promise<LoadedScript<unknown>> {
  // Nobody else hears of an error in the script itself.
  reportError(error)
  return { default: (await isServerThere()) ? () => <Newer page={Page} /> : () => <Unreachable page={Page} /> }
}

async function isServerThere(): Promise<boolean> {
  try {
    return (await fetch('/dashboard', { method: 'HEAD' })).ok
  } catch {
    return false
  }
}

function Newer({ page: Page }: { readonly page: Around }) {
  return (
    <Page title={frameText.newer} lead={frameText.newerLead}>
      <div class="row">
        <Button kind="main" icon="rotate-cw" onClick={reload}>
          {frameText.reload}
        </Button>
      </div>
    </Page>
  )
}

function Unreachable({ page: Page }: { readonly page: Around }) {
  return (
    <Page title={frameText.notLoaded}>
      <Failure error={unreachable()} again={reload} />
    </Page>
  )
}

/** Stands where a part of a screen would be, and leaves the rest of the screen with what is typed there. */
export function PartNotLoaded({ error }: { readonly error: Error }) {
  const [isNewer, setNewer] = useState<boolean | undefined>(undefined)
  useEffect(() => {
    reportError(error)
    void isServerThere().then(setNewer)
  }, [error])
  if (isNewer === undefined) return null
  if (!isNewer) return <Failure error={unreachable()} again={reload} />
  return (
    <Notice kind="warn" isAlert>
      <p>
        <strong>{frameText.newer}.</strong> {frameText.newerPartLead}
      </p>
      <div class="row">
        <Button icon="rotate-cw" onClick={reload}>
          {frameText.reload}
        </Button>
      </div>
    </Notice>
  )
}

function reload(): void {
  location.reload()
}
