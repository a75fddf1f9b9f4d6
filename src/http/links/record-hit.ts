// Records hits of links and pictures in the log. A person who clicks must not wait for it: the redirect follows even if the log is
// slow or full, and then the hit may be missing.
import type { FastifyRequest } from 'fastify'
import { messageIdOfRun } from '../../core/delivery/delivery-entry.ts'
import type { HitKind, HitsBody, LinkHit } from '../../core/links/link-entry.ts'
import type { Parts } from '../../operations/operation.ts'
import { reportFailedRequest, toRequestSubject } from '../requests/request-diagnostics.ts'
import { callerAddress } from '../requests/caller-address.ts'
import { isPrefetch } from './prefetch.ts'
import type { OpenedLink } from './link-reader.ts'
import { within } from './within.ts'

/** How long an answer waits until its hit is durable. The log needs some milliseconds. */
const DURABLE_WAIT_MS = 500
const USER_AGENT_LENGTH_MAX = 512

/** Resolves when the hit is durable, or after `DURABLE_WAIT_MS`. Never rejects. Tests belong to nobody, and are not recorded. */
export async function recordHit(
  request: FastifyRequest,
  { run, message, link }: OpenedLink,
  { kind, log, receiptClock }: { readonly kind: HitKind } & Pick<Parts, 'log' | 'receiptClock'>,
): Promise<void> {
  if (message === 0) return
  const at = receiptClock()
  const hit: LinkHit = { run: run.number, message, kind, link, at, ...originOf(request) }
  const body: HitsBody = { hits: [hit] }
  const appended = log.append({
    kind: 'svc_hits',
    workspaceId: run.workspaceId,
    requestId: request.id,
    receivedAt: at,
    context: { campaign: run.campaign },
    body: Buffer.from(JSON.stringify(body)),
    events: 1,
    // One pipeline dates all hits of a message.
    partitionKey: `hits ${messageIdOfRun(run.number, message)}`,
  })
  const reported = appended.catch((error: unknown) => {
    reportFailedRequest(request.log, toRequestSubject(request), error)
  })
  await within(DURABLE_WAIT_MS, reported)
}

function originOf(request: FastifyRequest): Pick<LinkHit, 'ip' | 'user_agent' | 'is_automatic'> {
  const { method, headers } = request
  return {
    ip: callerAddress(request),
    user_agent: headers['user-agent']?.slice(0, USER_AGENT_LENGTH_MAX) ?? null,
    is_automatic: method === 'HEAD' || isPrefetch(headers),
  }
}
