// A whole server for tests, in this process: real HTTP on a free port, real store, log and pipeline on their threads.
import { pino } from 'pino'
import { expect } from 'vitest'
import { readConfig } from '../../src/app/config.ts'
import { parseJsonText } from '../../src/core/json/parse-json.ts'
import type { WorkspaceSettings } from '../../src/core/workspace.ts'
import type { ErrorBody } from '../../src/http/answers/error-answer.ts'
import type { KeyedQueue } from '../../src/concurrency/keyed-queue.ts'
import { serve, type ServeOptions } from '../../src/app/serve.ts'
import { createWorkspace } from '../../src/actions/create-workspace.ts'
import type { DatabaseLocation } from '../../src/store/open-database.ts'
import type { Database } from '../../src/store/store.ts'
import { saveSettings } from '../../src/store/workspaces/workspaces.ts'
import { DEFAULT_SETTINGS, LIMIT_DEFAULTS } from '../../src/core/workspace.ts'
import { requireDescribed } from './described-answers.ts'
import { makeLocation, makeStore, type StoreKind, type TestLocation } from './stores.ts'

export interface TestWorkspace {
  readonly id: string
  readonly dataKey: string
  readonly reportsKey: string
}

export interface CallOptions {
  /** The workspace whose key of the operation's tile is used; null for no Authorization header. */
  readonly as?: TestWorkspace | null
  readonly tile?: 'data' | 'reports'
  /** Somebody who signed in, instead of a key. */
  readonly person?: { readonly cookie: string } | undefined
  /** A value is sent as JSON; a text or bytes are sent as they are. */
  readonly body?: unknown
  /** Sent in addition; undefined takes a header away. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

export interface Answer<Body> {
  readonly status: number
  readonly headers: Headers
  readonly body: Body
}

export interface TestServer {
  readonly url: string
  readonly database: Database
  /** The server's own: a test that takes a turn makes requests wait until it is over. */
  readonly queue: KeyedQueue
  readonly dataDir: string
  /** Undefined on SQLite. */
  readonly databaseUrl: string | undefined
  /** A workspace with the default settings, in which tests may ask as often as they need to see what became of a request. */
  readonly workspace: TestWorkspace
  /** Sets what time it is for the server; undefined: the real time. */
  setClock(now: number | undefined): void
  /** A further workspace. Its id is made up when none is given. */
  makeWorkspace(settings?: Partial<WorkspaceSettings>, id?: string): Promise<TestWorkspace>
  /** Replaces settings of a workspace and waits until the server knows them. */
  changeSettings(workspace: TestWorkspace, settings: Partial<WorkspaceSettings>): Promise<void>
  /** Sends one request with Authorization, SVC-APPKEY and JSON, unless told otherwise. */
  call<Body = unknown>(method: string, path: string, options?: CallOptions): Promise<Answer<Body>>
  stop(): Promise<void>
}

export interface StartOptions extends Partial<
  Pick<ServeOptions, 'withPipeline' | 'withDelivery' | 'diagnostics' | 'httpLimits' | 'fetchText'>
> {
  /** A server whose PostgreSQL this one uses too, as another machine would; this one stops before that one. */
  readonly beside?: TestServer
  /** A store that exists already, perhaps with a workspace. It stays when the server stops. */
  readonly at?: DatabaseLocation & { readonly workspace?: TestWorkspace }
}

/** Suites that share two processors may keep each other's pipelines waiting for seconds. */
const APPLIED_WAIT_MS = 60_000

/** Of the workspace of each server. On a slow machine, tests that wait for the pipeline would use up the default. */
export const LIMITS_OF_TESTS: WorkspaceSettings['limits'] = {
  ...LIMIT_DEFAULTS,
  campaign_stats_per_minute: 1_000_000,
  management_per_minute: 1_000_000,
}

export async function startServer(
  kind: StoreKind,
  environment: Record<string, string> = {},
  options: StartOptions = {},
): Promise<TestServer> {
  const { beside, at, ...serveOptions } = options
  const location = at
    ? { ...at, remove: async () => {} }
    : beside
      ? await locationBeside(beside)
      : await makeStore(kind)
  let now: number | undefined
  const config = readConfig({
    PORT: '0',
    DATA_DIR: location.dataDir,
    FAST_PATH: process.env['TEST_FAST_PATH'],
    ...(location.databaseUrl !== undefined && { DATABASE_URL: location.databaseUrl }),
    ...environment,
  })
  const diagnostics = options.diagnostics ?? pino({ level: 'fatal' })
  const appliedWaitMs = options.withPipeline === false ? undefined : APPLIED_WAIT_MS
  const server = await serve({ ...serveOptions, config, diagnostics, appliedWaitMs, clock: () => now ?? Date.now() })
  const { database } = server
  let made = 0
  const makeWorkspace: TestServer['makeWorkspace'] = async (settings = {}, id = `workspace-${++made}`) => {
    return createWorkspace(database, id, settings, Date.now())
  }
  const workspace = at?.workspace ?? beside?.workspace ?? (await makeWorkspace({ limits: LIMITS_OF_TESTS }, 'main'))
  return {
    url: server.url,
    database,
    queue: server.queue,
    dataDir: location.dataDir,
    databaseUrl: location.databaseUrl,
    workspace,
    setClock: (to) => void (now = to),
    makeWorkspace,
    async changeSettings({ id }, settings) {
      await database.write((store) => saveSettings(store, id, { ...DEFAULT_SETTINGS, name: id, ...settings }))
      await server.registry.refresh()
    },
    call: (method, path, options = {}) => call(server.url, workspace, method, path, options),
    async stop() {
      await server.stop()
      await location.remove()
    },
  }
}

/** The same database, and a data directory of its own. */
async function locationBeside({ databaseUrl }: TestServer): Promise<TestLocation> {
  return { ...(await makeLocation('sqlite')), databaseUrl }
}

/** Longer than the partitions of a process that was killed stay leased to it, shorter than a test may take. */
const UNTIL_MS_MAX = 120_000
/**
 * The time between looks is this part of what was waited so far, so that a long wait leaves the processors to what it waits for.
 */
const LOOK_PART = 1 / 10
const LOOK_MS_MIN = 10
const LOOK_MS_MAX = 50

/** Waits for a condition, asking again and again; fails with `what` after `deadlineMs`. */
export async function until<Value>(
  what: string,
  ask: () => Promise<Value | undefined | false> | Value | undefined | false,
  deadlineMs = UNTIL_MS_MAX,
): Promise<Value> {
  const startedAt = performance.now()
  for (;;) {
    const value = await ask()
    if (value !== undefined && value !== false) return value
    const waitedMs = performance.now() - startedAt
    if (waitedMs > deadlineMs) throw new Error(`not within ${deadlineMs} ms: ${what}`)
    const lookMs = Math.min(waitedMs * LOOK_PART, deadlineMs - waitedMs, LOOK_MS_MAX)
    await new Promise((resolve) => setTimeout(resolve, Math.max(lookMs, LOOK_MS_MIN)))
  }
}

/** Expects a refusal: its status, its code, and exactly these fields in its details. */
export function expectRefusal(
  answer: Answer<unknown>,
  status: number,
  code: string,
  fields: readonly string[] = [],
): void {
  const body = answer.body as ErrorBody
  expect({ status: answer.status, code: body.error?.code, fields: fieldsOf(body) }).toEqual({
    status,
    code,
    fields: [...fields].toSorted(),
  })
  expect(body.status).toBe('fail')
  expect(body.error.request_id).toBe(answer.headers.get('x-request-id'))
}

function fieldsOf(body: ErrorBody): string[] {
  return [...new Set((body.error?.details ?? []).map(({ field }) => field))].toSorted()
}

/** Sends requests as `TestServer.call` does, to a server in a process of its own; `url` is asked before each. */
export function callsTo(url: () => string, workspace: TestWorkspace): TestServer['call'] {
  return (method, path, options = {}) => call(url(), workspace, method, path, options)
}

async function call<Body>(
  url: string,
  main: TestWorkspace,
  method: string,
  path: string,
  options: CallOptions,
): Promise<Answer<Body>> {
  const { as = main, tile = 'data', person, body } = options
  const headers = new Headers()
  if (person) headers.set('cookie', person.cookie)
  if (as && person) headers.set('svc-appkey', as.id)
  else if (as) {
    const key = tile === 'data' ? as.dataKey : as.reportsKey
    headers.set('authorization', `Basic ${Buffer.from(`${as.id}:${key}`).toString('base64')}`)
    headers.set('svc-appkey', as.id)
  }
  if (body !== undefined) headers.set('content-type', 'application/json')
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    if (value === undefined) headers.delete(name)
    else headers.set(name, value)
  }
  const sent = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  const response = await fetch(url + path, {
    method,
    headers,
    ...(body !== undefined && { body: sent as string }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  const answered = (isJson ? parseJsonText(text) : text) as Body
  requireDescribed(method, path, response.status, answered)
  return { status: response.status, headers: response.headers, body: answered }
}
