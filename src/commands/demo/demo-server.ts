// Calls operations of a running server with the keys of the demo's workspace. Over HTTP, because only the server may append to the
// embedded log.
import { AppError } from '../../core/app-error.ts'
import type { NewWorkspace } from '../../actions/create-workspace.ts'
import { codeOf } from '../../core/thrown.ts'
import { parseAnswer, toRefusal } from '../servers/server-answer.ts'

const ANSWER_WAIT_MS = 60_000

export interface DemoCall {
  readonly tile: 'data' | 'reports'
  /** Sent as JSON; a text is sent as it is. */
  readonly body?: object | string
  readonly contentType?: string
}

export class DemoServer {
  readonly #url: URL
  readonly #keys: NewWorkspace

  constructor(url: URL, keys: NewWorkspace) {
    this.#url = url
    this.#keys = keys
  }

  /** The answer of an operation. Throws AppError: the refusal of the server, or `unavailable`. */
  async call<Answer = unknown>(method: string, path: string, { tile, body, contentType }: DemoCall): Promise<Answer> {
    const { id, dataKey, reportsKey } = this.#keys
    const key = tile === 'data' ? dataKey : reportsKey
    const response = await fetch(new URL(path, this.#url), {
      method,
      headers: {
        authorization: `Basic ${Buffer.from(`${id}:${key}`).toString('base64')}`,
        'svc-appkey': id,
        ...(body !== undefined && { 'content-type': contentType ?? 'application/json' }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_WAIT_MS),
    }).catch((error: unknown) => {
      throw unreachable(this.#url, error)
    })
    const text = await response.text()
    if (!response.ok) throw toRefusal(parseAnswer(text))
    return (text === '' ? undefined : JSON.parse(text)) as Answer
  }
}

/** Throws AppError `unavailable` if no Tidings server answers. */
export async function requireServer(url: URL): Promise<void> {
  const response = await fetch(new URL('/readyz', url), { signal: AbortSignal.timeout(ANSWER_WAIT_MS) }).catch(
    (error: unknown) => {
      throw unreachable(url, error)
    },
  )
  await response.body?.cancel()
  if (!response.ok)
    throw new AppError('unavailable', `The server at ${url.origin} is not ready. Its page /readyz says why.`)
}

function unreachable(url: URL, error: unknown): AppError {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  const reason = codeOf(cause) ?? (cause instanceof Error ? cause.message : String(cause))
  return new AppError(
    'unavailable',
    `The server at ${url.origin} cannot be reached (${reason}). Start it, or set --url.`,
  )
}
