// Starts the dashboard in the browser.
import { render } from 'preact'
import { App } from './app.tsx'
import { Client } from './data/client.ts'
import { DataContext, newQueryClient } from './data/queries.ts'
import { SessionGate } from './data/session-gate.ts'
import { workspaceIn } from './data/workspace-address.ts'

const gate = new SessionGate()
const client = new Client({ workspace: () => workspaceIn(location.pathname), gate })
const data = { client, queries: newQueryClient(), gate }

render(
  <DataContext.Provider value={data}>
    <App />
  </DataContext.Provider>,
  document.getElementById('app') as HTMLElement,
)
