// What tests of exports do again and again: read lines, whole or in parts.
import { request, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { expect } from 'vitest'
import type { TestServer, TestWorkspace } from '../server.ts'

export type ExportLine = Readonly<Record<string, unknown>> & { readonly cursor: string }

/** All lines of an export, which must be complete. */
export async function readExport(
  server: TestServer,
  path: string,
  as: TestWorkspace = server.workspace,
): Promise<ExportLine[]> {
  const answer = await server.call<string>('GET', path, { as })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
  return toLines(answer.body)
}

export function toLines(text: string): ExportLine[] {
  const lines = text.split('\n')
  expect(lines.pop()).toBe('')
  return lines.map((line) => JSON.parse(line) as ExportLine)
}

/** An export of which only the head of the response is read. */
export async function openExport(url: string, path: string, { id, dataKey }: TestWorkspace): Promise<IncomingMessage> {
  const sent = request(url + path, { auth: `${id}:${dataKey}`, headers: { 'svc-appkey': id } })
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response
}
