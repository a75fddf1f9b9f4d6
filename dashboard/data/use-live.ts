// What is known of changes, for screens: the live document of the workspace, or a part of it.
import { createContext } from 'preact'
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Live, type LiveState } from './live.ts'
import { useData } from './queries.ts'

export const LiveContext = createContext<Live | undefined>(undefined)

/** Follows the changes of a workspace as long as the calling component is there. */
export function useNewLive(): Live {
  const { client, queries } = useData()
  const live = useMemo(
    () =>
      new Live({
        client,
        queries,
        ask: (asked, signal) => asked.get('/v1/workspaces/:Workspace_ID/changes', { signal }),
      }),
    [client, queries],
  )
  useEffect(() => live.start(), [live])
  return live
}

/** What `select` takes from what is known now. The component is drawn again when that differs. */
export function useLive<Value>(select: (state: LiveState) => Value): Value {
  const live = useContext(LiveContext)
  if (!live) throw new Error('this component is outside of a workspace')
  const value = select(live.state)
  const latest = useRef(select)
  latest.current = select
  const [, setShown] = useState(value)
  useEffect(() => {
    const look = () => setShown(() => latest.current(live.state))
    look()
    return live.subscribe(look)
  }, [live])
  return value
}
