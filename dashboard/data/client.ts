// Calls the operations of the server with the session of the person: addresses, inputs and answers are typed by the operations. It
// checks nothing itself: the server does, and every refusal becomes an ApiError.
import { ApiError, toApiError, unreachable } from './api-error.ts'
import type { Address, AnswerOf, Asked, CallMethod, CallOptions } from './contracts.ts'
import { saveFile } from './saved-files.ts'
import type { SessionGate } from './session-gate.ts'

export interface ClientOptions {
  /** The workspace in the address of the page. */
  readonly workspace: () => string | undefined
  readonly gate: SessionGate
}

/** A call whose types do not matter any more. */
interface Call extends CallOptions {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

export interface Upload {
  readonly path?: Readonly<Record<string, string>>
  readonly file: Blob
  /** The media type under which it is sent, such as `text/csv`. */
  readonly type: string
  /** Called with the part of the file that is sent, from 0 to 1. */
  readonly onProgress?: (part: number) => void
  readonly signal?: AbortSignal
  readonly idempotencyKey?: string
}

export class Client {
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
  }

  /** The workspace that calls are about. */
  get workspace(): string | undefined {
    return this.#options.workspace()
  }

  get<Url extends Address<'GET'>>(url: Url, ...[asked]: Asked<'GET', Url>): Promise<AnswerOf<'GET', Url>> {
    return this.#json('GET', url, asked as Call)
  }

  post<Url extends Address<'POST'>>(url: Url, ...[asked]: Asked<'POST', Url>): Promise<AnswerOf<'POST', Url>> {
    return this.#json('POST', url, asked as Call)
  }

  put<Url extends Address<'PUT'>>(url: Url, ...[asked]: Asked<'PUT', Url>): Promise<AnswerOf<'PUT', Url>> {
    return this.#json('PUT', url, asked as Call)
  }

  patch<Url extends Address<'PATCH'>>(url: Url, ...[asked]: Asked<'PATCH', Url>): Promise<AnswerOf<'PATCH', Url>> {
    return this.#json('PATCH', url, asked as Call)
  }

  delete<Url extends Address<'DELETE'>>(url: Url, ...[asked]: Asked<'DELETE', Url>): Promise<AnswerOf<'DELETE', Url>> {
    return this.#json('DELETE', url, asked as Call)
  }

  /** The objects of a stream of JSON lines, as they arrive. */
  async *lines<Url extends Address<'GET'>>(
    url: Url,
    ...[asked]: Asked<'GET', Url>
  ): AsyncGenerator<AnswerOf<'GET', Url>> {
    const { body } = await this.#send('GET', url, asked as Call)
    if (!body) return
    let rest = ''
    for await (const text of body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) if (line !== '') yield JSON.parse(line) as AnswerOf<'GET', Url>
    }
    if (rest !== '') yield JSON.parse(rest) as AnswerOf<'GET', Url>
  }

  /** Saves the answer as a file of the person. */
  async save<Url extends Address<'GET'>>(fileName: string, url: Url, ...[asked]: Asked<'GET', Url>): Promise<void> {
    const response = await this.#send('GET', url, asked as Call)
    saveFile(fileName, await response.blob())
  }

  /** Sends a file. `fetch` cannot say how much of it is sent. */
  async upload<Url extends Address<'POST'>>(url: Url, upload: Upload): Promise<AnswerOf<'POST', Url>> {
    for (;;) {
      const { openings } = this.#options.gate
      const answer = await sendFile(this.#addressOf(url, upload), upload, this.#headersOf(upload))
      if (answer.status === 401) await this.#options.gate.wait(openings, upload.signal)
      else if (answer.status >= 400) throw toApiError(answer)
      else return JSON.parse(answer.text) as AnswerOf<'POST', Url>
    }
  }

  /** The answer as it is, for what is no JSON, or whose numbers must not be rounded. Throws ApiError, or the reason of the signal. */
  respond<Method extends CallMethod, Url extends Address<Method>>(
    method: Method,
    url: Url,
    ...[asked]: Asked<Method, Url>
  ): Promise<Response> {
    return this.#send(method, url, asked as Call)
  }

  /** `call`: an `AskedOf`. */
  async #send(method: CallMethod, url: string, call: Call = {}): Promise<Response> {
    const { body, signal, asksToSignIn = true } = call
    const headers = this.#headersOf(call)
    if (body !== undefined) headers.set('content-type', 'application/json')
    const init = {
      method,
      headers,
      ...(signal && { signal }),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }
    for (;;) {
      const { openings } = this.#options.gate
      const response = await fetch(this.#addressOf(url, call), init).catch((error: unknown) => {
        throw signal?.aborted ? error : unreachable()
      })
      if (response.ok) return response
      if (response.status !== 401 || !asksToSignIn) throw await readRefusal(response)
      await this.#options.gate.wait(openings, signal)
    }
  }

  async #json<Answer>(method: CallMethod, url: string, call?: Call): Promise<Answer> {
    const response = await this.#send(method, url, call)
    // The compiler knows that an operation without output returns nothing.
    return (response.status === 204 ? undefined : await response.json()) as Answer
  }

  #addressOf(url: string, { path = {}, query = {}, workspace = this.workspace }: Call): string {
    const filled = url.replaceAll(/:(\w+)/g, (_match, name: string) => {
      const value = name === 'Workspace_ID' ? workspace : path[name]
      if (value === undefined) throw new Error(`the address ${url} needs ${name}`)
      return encodeURIComponent(value)
    })
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
    const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
    return search === '' ? filled : `${filled}?${search}`
  }

  #headersOf({ workspace = this.workspace, idempotencyKey, accept = 'application/json' }: CallOptions): Headers {
    const headers = new Headers({ accept })
    if (workspace !== undefined) headers.set('svc-appkey', workspace)
    if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey)
    return headers
  }
}

async function readRefusal(response: Response): Promise<ApiError> {
  const { status, headers } = response
  return toApiError({ status, text: await response.text(), header: (name) => headers.get(name) })
}

interface FileAnswer {
  readonly status: number
  readonly text: string
  readonly header: (name: string) => string | null
}

function sendFile(address: string, { file, type, onProgress, signal }: Upload, headers: Headers): Promise<FileAnswer> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error)
    const request = new XMLHttpRequest()
    const onAbort = () => request.abort()
    request.open('POST', address)
    for (const [name, value] of headers) request.setRequestHeader(name, value)
    request.setRequestHeader('content-type', type)
    request.upload.addEventListener('progress', ({ loaded, total }) => onProgress?.(total === 0 ? 1 : loaded / total))
    request.addEventListener('load', () => {
      const { status, responseText: text } = request
      resolve({ status, text, header: (name) => request.getResponseHeader(name) })
    })
    request.addEventListener('error', () => reject(unreachable()))
    request.addEventListener('abort', () => reject(signal?.reason as Error))
    request.addEventListener('loadend', () => signal?.removeEventListener('abort', onAbort))
    signal?.addEventListener('abort', onAbort)
    request.send(file)
  })
}
