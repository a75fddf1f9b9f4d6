// Fetches the attachments of a template once, when a campaign starts. It connects only to addresses that were checked: otherwise a
// template could read what only this server can reach.
import { lookup as resolve, type LookupAddress } from 'node:dns'
import { request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Attachment } from '../../../core/templates/template.ts'
import type { LetterAttachment } from '../render-job.ts'
import { isSpecialAddress } from './special-addresses.ts'

/** All attachments of a template together. */
export const ATTACHMENTS_BYTES_MAX = 10 * 1024 * 1024
const REDIRECTS_MAX = 5
const ANY_TYPE = 'application/octet-stream'
const BYTES_MAX_TEXT = 'The attachments of a template must have at most 10 MiB in all'

export interface AttachmentFault {
  /** Of the attachment in the template. */
  readonly name: string
  readonly url: string
  readonly problem: string
}

export interface FetchedAttachments {
  readonly attachments: readonly LetterAttachment[]
  /** Empty if all were fetched. */
  readonly faults: readonly AttachmentFault[]
}

/**
 * `hosts`: ATTACHMENT_HOSTS, names that may have any address. Never rejects for what a server does, nor when the signal ends the time:
 * what is not fetched by then is a fault.
 */
export async function fetchAttachments(
  wanted: readonly Attachment[],
  { hosts, signal }: { readonly hosts: readonly string[]; readonly signal: AbortSignal },
): Promise<FetchedAttachments> {
  const attachments: LetterAttachment[] = []
  const faults: AttachmentFault[] = []
  let room = ATTACHMENTS_BYTES_MAX
  for (const { name, url } of wanted) {
    try {
      const { type, content } = await fetchOne(url, { hosts: new Set(hosts.map(toHostName)), room, signal })
      room -= content.byteLength
      attachments.push({ name, type, content })
    } catch (error) {
      faults.push({ name, url, problem: signal.aborted ? TOO_SLOW : problemOf(error) })
    }
  }
  return { attachments, faults }
}

interface FetchOptions {
  readonly hosts: ReadonlySet<string>
  readonly room: number
  readonly signal: AbortSignal
}

const TOO_SLOW = 'was not fetched: fetching all attachments takes too long'

/** What is wrong with an attachment, as the end of a sentence. */
class AttachmentProblem extends Error {}

function problemOf(error: unknown): string {
  if (error instanceof AttachmentProblem) return error.message
  return `cannot be fetched: ${error instanceof Error ? error.message : String(error)}`
}

async function fetchOne(url: string, options: FetchOptions): Promise<Omit<LetterAttachment, 'name'>> {
  let address = toUrl(url)
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
    const response = await ask(address, options)
    const { statusCode = 0, headers } = response
    if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
      response.destroy()
      address = toUrl(headers.location, address)
      continue
    }
    if (statusCode !== 200) {
      response.destroy()
      throw new AttachmentProblem(`cannot be fetched: the server answered ${statusCode}`)
    }
    const [type = ''] = (headers['content-type'] ?? '').split(';')
    return { type: type.trim() || ANY_TYPE, content: await readBody(response, options.room) }
  }
  throw new AttachmentProblem(`cannot be fetched: more than ${REDIRECTS_MAX} redirects`)
}

function toUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base)
  if (!url) throw new AttachmentProblem('has an invalid address')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new AttachmentProblem('must have an http(s) address')
  return url
}

function ask(url: URL, { hosts, signal }: FetchOptions): Promise<IncomingMessage> {
  const host = toHostName(url.hostname)
  const isAllowed = hosts.has(host)
  if (!isAllowed && isIP(host) && isSpecialAddress(host)) throw notPublic(host, host)
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  const options: RequestOptions = {
    signal,
    // A connection that is kept might have been made for another name.
    agent: false,
    headers: { 'accept-encoding': 'identity', 'user-agent': 'Tidings' },
    ...(!isAllowed && { lookup: lookupPublic }),
  }
  return new Promise((done, failed) => {
    request(url, options, done).on('error', failed).end()
  })
}

/** Resolves a name, and fails if any of its addresses is special: the connection is made to what this returns. */
const lookupPublic: LookupFunction = (host, options, done) => {
  resolve(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    const wrong = error ? undefined : addresses.find(({ address }) => isSpecialAddress(address))
    const [first] = addresses ?? []
    if (error ?? wrong) done(error ?? notPublic(host, wrong?.address ?? ''), '')
    else if (options.all) done(null, addresses)
    else done(null, first?.address ?? '', first?.family)
  })
}

function notPublic(host: string, address: string): AttachmentProblem {
  const what = host === address ? host : `${host} has the address ${address}, which`
  return new AttachmentProblem(
    `cannot be fetched: ${what} is not of the public internet; an operator can allow the host with ATTACHMENT_HOSTS`,
  )
}

async function readBody(response: IncomingMessage, room: number): Promise<Uint8Array> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > room) {
      response.destroy()
      throw new AttachmentProblem(`is too large: ${BYTES_MAX_TEXT}`)
    }
    pieces.push(piece)
  }
  if (!response.complete) throw new AttachmentProblem('cannot be fetched: the connection ended early')
  return new Uint8Array(Buffer.concat(pieces))
}

/** Without the brackets of IPv6, a dot at the end, and case. */
function toHostName(host: string): string {
  return host.toLowerCase().replaceAll(/^\[|\]$|\.$/g, '')
}
