// Answers clicks and pictures: leads people on, and records the hit.
import type { FastifyReply } from 'fastify'
import { isPersonalTarget, toLocation } from '../../core/links/link-target.ts'
import { findOwnTarget } from '../../store/delivery/linked-messages.ts'
import { findOnceApplied } from './find-once-applied.ts'
import { sendMissing, type Exchange, type LinkContext, type LinkOptions } from './link-exchange.ts'
import type { OpenedLink } from './link-reader.ts'
import { recordHit } from './record-hit.ts'

/** A transparent picture of one pixel. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

export async function followLink(
  { request, reply, token }: Exchange,
  { links, parts, registry }: LinkContext,
): Promise<FastifyReply> {
  const opened = await links.open(token, 'click')
  const location = opened && (await findLocation(opened, { parts, registry }))
  if (!location) return sendMissing(reply)
  await recordHit(request, opened, { kind: 'click', ...parts })
  return reply.code(302).header('location', location).send()
}

/** Where a link leads; undefined if nowhere on the web. */
async function findLocation(opened: OpenedLink, options: LinkOptions): Promise<string | undefined> {
  // Targets of a link in a loop have numbers beyond those of the run.
  const url = opened.run.links[opened.link - 1]
  const isShared = url !== undefined && !isPersonalTarget(url)
  const target = isShared ? url : await findPersonalTarget(opened, options)
  return target === undefined ? undefined : toLocation(target)
}

/** The pipeline stores it with the attempt to send the message, perhaps after a quick reader clicks. Sealed where emails are encrypted. */
async function findPersonalTarget(
  { run, message, link }: OpenedLink,
  { parts, registry }: LinkOptions,
): Promise<string | undefined> {
  if (message === 0) return undefined
  const key = { run: run.number, number: message }
  const target = await findOnceApplied(parts, () => findOwnTarget(parts.database, key, link))
  const isSealed = registry.get(run.workspaceId)?.workspace.emailProtection === 'encrypted'
  return target !== undefined && isSealed ? parts.emailVault?.open(run.workspaceId, target) : target
}

/** Always answers with the picture: mail programs would show a missing one to the reader. */
export async function showPixel(
  { request, reply, token }: Exchange,
  { links, parts }: LinkContext,
): Promise<FastifyReply> {
  const opened = await links.open(token, 'open').catch(() => undefined)
  if (opened) await recordHit(request, opened, { kind: 'open', ...parts })
  return reply.header('content-type', 'image/gif').send(PIXEL)
}
