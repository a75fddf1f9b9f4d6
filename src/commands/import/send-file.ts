// Sends the file of an import to a server, and asks how far the import is. A second process may not append to the embedded log, so
// the command does not open the store.
import { createReadStream } from 'node:fs'
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { pipeline } from 'node:stream/promises'
import { AppError } from '../../core/app-error.ts'
import { codeOf } from '../../core/thrown.ts'
import { notTidings, parseAnswer, toRefusal } from '../servers/server-answer.ts'

/** How long the server may take to answer when the whole file is sent. */
const ANSWER_WAIT_MS = 60_000
/** More than the answer with all refusals. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024

/** An import, as the server shows it. */
export interface ShownImport {
  readonly import_id: string
  readonly status: string
  readonly rows: number
  readonly accepted: number
  readonly refused: number
  readonly refusals: readonly { readonly line: number; readonly problem: string }[]
  readonly applied: number
  readonly kept_opted_out: number
  readonly incomplete: number
  readonly created_at: string
}

export interface ImportServer {
  readonly url: URL
  readonly workspaceId: string
  readonly apiKey: string
}

export interface FileToSend {
  readonly path: string
  readonly bytes: number
  readonly mediaType: string
  readonly idempotencyKey: string
  readonly onSent: (bytes: number) => void
}

/** Resolves when every accepted row is durable. Throws AppError: the server's refusal, or `unavailable`. */
export async function sendFile(server: ImportServer, file: FileToSend): Promise<ShownImport> {
  const request = open(server, 'POST', '', {
    'content-type': file.mediaType,
    'content-length': String(file.bytes),
    'idempotency-key': file.idempotencyKey,
  })
  const answered = answerOf(request, server)
  const sent = pipeline(createReadStream(file.path), counted(file.onSent), request)
  // A server that refuses the file answers before it has all of it, and then the rest cannot be sent.
  await Promise.race([answered, sent.catch(() => answered)])
  request.setTimeout(ANSWER_WAIT_MS, () => request.destroy(new Error('the server does not answer')))
  return answered
}

export function findStatus(server: ImportServer, importId: string): Promise<ShownImport> {
  const request = open(server, 'GET', `/${importId}`, {})
  request.setTimeout(ANSWER_WAIT_MS, () => request.destroy(new Error('the server does not answer')))
  request.end()
  return answerOf(request, server)
}

function counted(onSent: (bytes: number) => void) {
  return async function* count(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let bytes = 0
    for await (const chunk of chunks) {
      yield chunk
      bytes += chunk.byteLength
      onSent(bytes)
    }
  }
}

function open(
  { url, workspaceId, apiKey }: ImportServer,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
) {
  const send = url.protocol === 'https:' ? requestHttps : requestHttp
  const base = url.href.replace(/\/+$/, '')
  const address = `${base}/v1/customer/${encodeURIComponent(workspaceId)}/import${path}`
  return send(address, { method, auth: `${workspaceId}:${apiKey}`, headers })
}

function answerOf(request: ReturnType<typeof open>, { url }: ImportServer): Promise<ShownImport> {
  const answered = new Promise<ShownImport>((resolve, reject) => {
    request.once('response', (response) => void readAnswer(response).then(resolve, reject))
    request.once('error', (error) => reject(unreachable(url, codeOf(error) ?? error.message)))
  })
  // Its error may come while the file is still being sent.
  answered.catch(() => {})
  return answered
}

async function readAnswer(response: IncomingMessage): Promise<ShownImport> {
  let text = ''
  for await (const part of response.setEncoding('utf8') as AsyncIterable<string>) {
    text += part
    if (text.length > ANSWER_BYTES_MAX) throw notTidings()
  }
  const body = parseAnswer(text)
  if (response.statusCode === 200 && typeof body?.['import_id'] === 'string') return body as unknown as ShownImport
  throw toRefusal(body)
}

function unreachable(url: URL, reason: string): AppError {
  const how = 'Start the server or set --url, then run the command again: it continues where it ended.'
  return new AppError('unavailable', `The connection to ${url.origin} failed (${reason}). ${how}`)
}
