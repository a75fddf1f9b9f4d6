// What tests of imports do again and again: send a file, whole or in parts, and wait until it is applied.
import { expect } from 'vitest'
import { until, type Answer, type TestServer, type TestWorkspace } from '../server.ts'
import { startUpload, type SlowUpload } from '../slow-upload.ts'

export interface ImportBody {
  readonly import_id: string
  readonly status: 'receiving' | 'interrupted' | 'processing' | 'complete'
  readonly rows: number
  readonly accepted: number
  readonly refused: number
  readonly refusals: readonly { readonly line: number; readonly problem: string }[]
  readonly applied: number
  readonly kept_opted_out: number
  readonly incomplete: number
  readonly created_at: string
}

export interface ImportCalls {
  /** Sends a file of CSV, or of NDJSON if it begins with a brace. */
  send(file: string | Uint8Array, headers?: Readonly<Record<string, string>>): Promise<Answer<ImportBody>>
  find(id: string): Promise<Answer<ImportBody>>
  /** Waits until all accepted rows are applied. */
  applied(id: string): Promise<ImportBody>
  /** Both: the answer must be 200. */
  apply(file: string, headers?: Readonly<Record<string, string>>): Promise<ImportBody>
  open(key?: string): SlowUpload
}

/** Calls in the name of one workspace. */
export function importCallsOf(
  server: Pick<TestServer, 'url' | 'call'>,
  workspace: Pick<TestWorkspace, 'id' | 'dataKey' | 'reportsKey'>,
): ImportCalls {
  const path = `/v1/customer/${workspace.id}/import`
  const calls: ImportCalls = {
    send(file, headers = {}) {
      const type = typeof file === 'string' && file.startsWith('{') ? 'application/x-ndjson' : 'text/csv'
      return server.call('POST', path, { as: workspace, body: file, headers: { 'content-type': type, ...headers } })
    },
    find: (id) => server.call('GET', `${path}/${id}`, { as: workspace }),
    applied(id) {
      return until('the import is applied', async () => {
        const { body } = await calls.find(id)
        return body.status === 'complete' ? body : undefined
      })
    },
    async apply(file, headers) {
      const answer = await calls.send(file, headers)
      expect(answer).toMatchObject({ status: 200 })
      return calls.applied(answer.body.import_id)
    },
    open: (key) => openImport(server.url, workspace, key),
  }
  return calls
}

/** Begins an import of CSV of which nothing is sent yet. */
export function openImport(
  url: string,
  { id, dataKey }: Pick<TestWorkspace, 'id' | 'dataKey'>,
  key?: string,
): SlowUpload {
  return startUpload(`${url}/v1/customer/${id}/import`, {
    auth: `${id}:${dataKey}`,
    headers: { 'content-type': 'text/csv', ...(key !== undefined && { 'idempotency-key': key }) },
  })
}

/** Lines of CSV for the users `from` to `to - 1`, without a header. */
export function csvLines(from: number, to: number): string {
  return Array.from({ length: to - from }, (_, index) => `user-${from + index},plan-${from + index}\n`).join('')
}
