// Fetches a small text from a mail service: its certificate, or the address that confirms a subscription. Only callers that have
// checked the host may use it.
import { AppError } from '../../../core/app-error.ts'

const WAIT_MS_MAX = 5_000
const BYTES_MAX = 64 * 1024

/** Throws AppError `unavailable` if there is no answer in time, so that the service sends its request again. */
export async function fetchText(url: string): Promise<string> {
  const response = await ask(url)
  if (!response.ok || !response.body) throw unreachable()
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body) {
    bytes += chunk.byteLength
    if (bytes > BYTES_MAX) throw unreachable()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function ask(url: string): Promise<Response> {
  try {
    return await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(WAIT_MS_MAX) })
  } catch (error) {
    // What `fetch` throws when there is no answer.
    if (error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError'))
      throw unreachable()
    throw error
  }
}

function unreachable(): AppError {
  return new AppError('unavailable', 'The mail service does not answer. Retry after 1 second.', [], 1)
}
