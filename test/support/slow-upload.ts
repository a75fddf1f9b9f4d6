// A request whose body is sent part by part.
import { request, type ClientRequest, type RequestOptions } from 'node:http'
import type { Answer } from './server.ts'

/** An upload whose parts are sent one by one. */
export interface SlowUpload {
  send(part: string): Promise<void>
  end(): Promise<Answer<unknown>>
  /** The answer that comes before the end of the upload. */
  readonly answer: Promise<Answer<unknown>>
  /** Ends the connection in the middle. */
  breakOff(): void
}

/** Begins a POST of which nothing is sent yet. */
export function startUpload(url: string, options: Pick<RequestOptions, 'auth' | 'headers'>): SlowUpload {
  const answer = Promise.withResolvers<Answer<unknown>>()
  const sent = request(url, { method: 'POST', ...options })
  sent.on('response', (response) => {
    let text = ''
    response.setEncoding('utf8')
    response.on('data', (part: string) => (text += part))
    response.on('end', () => {
      const headers = new Headers({ 'x-request-id': String(response.headers['x-request-id']) })
      answer.resolve({ status: response.statusCode ?? 0, headers, body: JSON.parse(text) as unknown })
    })
  })
  sent.on('error', (error) => answer.reject(error))
  // Whoever breaks off does not ask for the answer.
  answer.promise.catch(() => {})
  return {
    send: (part) => write(sent, part),
    end() {
      sent.end()
      return answer.promise
    },
    answer: answer.promise,
    breakOff: () => void sent.destroy(),
  }
}

function write(sent: ClientRequest, part: string): Promise<void> {
  return new Promise((resolve, reject) => {
    sent.write(part, (error) => (error ? reject(error) : resolve()))
  })
}
