// Answers with the pages on which people unsubscribe, choose emails, and see a message.
import type { FastifyReply } from 'fastify'
import { makeToken, type TokenPurpose } from '../../actions/links/link-token.ts'
import { changeByLink } from '../../core/users/change-by-link.ts'
import { findCategories } from '../../store/workspaces/workspaces.ts'
import { findOnceApplied } from './find-once-applied.ts'
import { decideByLink, findLinkPerson, type LinkPerson } from './decide-by-link.ts'
import { labelCategories } from './shown-categories.ts'
import { readForm, sendMissing, sendPage, type Exchange, type LinkContext } from './link-exchange.ts'
import type { OpenedLink } from './link-reader.ts'
import { readPreferenceForm, renderPreferences } from './pages/preference-page.ts'
import { renderUnsubscribe, renderUnsubscribed, type UnsubscribePage } from './pages/unsubscribe-page.ts'

export async function showUnsubscribe({ reply, token }: Exchange, context: LinkContext): Promise<FastifyReply> {
  const opened = await context.links.open(token, 'unsubscribe')
  if (!opened) return sendMissing(reply)
  const person = await findLinkPerson(context.parts.database, opened)
  return sendPage(reply, renderUnsubscribe(await pageOf(opened, person, context)), context)
}

/**
 * Every POST with a genuine token unsubscribes, whatever its body holds: a mail service that words the body in another way asks for
 * the same (RFC 8058), and a person's wish must not fail for it.
 */
export async function unsubscribe({ request, reply, token }: Exchange, context: LinkContext): Promise<FastifyReply> {
  const opened = await context.links.open(token, 'unsubscribe')
  if (!opened) return sendMissing(reply)
  await readForm(request, context)
  const { parts } = context
  const person = await findLinkPerson(parts.database, opened)
  // Read before the decision, so that no failure hides it.
  const page = await pageOf(opened, person, context)
  const { customerId } = person
  const { category } = opened.run
  const wanted = category === null ? { status: 'OPTED_OUT' as const } : { categories: { [category]: false } }
  const decision = { action: 'unsubscribe', request: wanted } as const
  if (customerId !== undefined) await decideByLink(request, opened, { customerId, decision, parts })
  return sendPage(reply, renderUnsubscribed(page), context)
}

/** The address of the preference page is relative: a proxy may serve these routes under a path of its own. */
async function pageOf(
  { run, message }: OpenedLink,
  person: LinkPerson,
  { links, parts }: LinkContext,
): Promise<UnsubscribePage> {
  const key = links.linkKeyOf(run) ?? ''
  const purpose: TokenPurpose = 'preferences'
  const { workspaceId } = run
  const categories = run.category === null ? [] : [run.category]
  const [category] = await labelCategories(parts.database, { workspaceId, categories }, person)
  return {
    language: person.language,
    category: category?.label ?? null,
    preferencesUrl: `../p/${makeToken(key, { purpose, run: run.number, message, link: 0 })}`,
  }
}

export async function showPreferences({ reply, token }: Exchange, context: LinkContext): Promise<FastifyReply> {
  const opened = await context.links.open(token, 'preferences')
  if (!opened) return sendMissing(reply)
  const { database } = context.parts
  const { workspaceId } = opened.run
  const person = await findLinkPerson(database, opened)
  const categories = [...(await findCategories(database, workspaceId))]
  const shown = await labelCategories(database, { workspaceId, categories }, person)
  return sendPage(reply, renderPreferences({ ...person, categories: shown, isSaved: false }), context)
}

export async function changePreferences(
  { request, reply, token }: Exchange,
  context: LinkContext,
): Promise<FastifyReply> {
  const opened = await context.links.open(token, 'preferences')
  if (!opened) return sendMissing(reply)
  const form = await readForm(request, context)
  const { parts } = context
  const { workspaceId } = opened.run
  const categories = [...(await findCategories(parts.database, workspaceId))]
  const decision = readPreferenceForm(form, categories)
  const person = await findLinkPerson(parts.database, opened)
  const { language, customerId, preference: before } = person
  const shown = await labelCategories(parts.database, { workspaceId, categories }, person)
  if (!decision) return sendPage(reply, renderPreferences({ ...person, categories: shown, isSaved: false }), context)
  const decided = { activeCategories: new Set(categories), receivedAt: parts.receiptClock() }
  if (customerId !== undefined) await decideByLink(request, opened, { customerId, decision, parts })
  // Shows what the person chose, even if it is not applied yet.
  const preference = changeByLink(before, decision.request, decided)?.preference ?? before
  return sendPage(reply, renderPreferences({ language, categories: shown, preference, isSaved: true }), context)
}

export async function showMessage({ reply, token }: Exchange, context: LinkContext): Promise<FastifyReply> {
  const opened = await context.links.open(token, 'view')
  const view = opened && (await findView(opened, context))
  if (!view) return sendMissing(reply)
  return sendPage(reply, view.html, { ...context, policy: view.contentSecurityPolicy })
}

/** Undefined if there is nothing to show; a test belongs to no message. */
async function findView({ run, message }: OpenedLink, { renderMessage, parts }: LinkContext) {
  return renderMessage && message !== 0 ? findOnceApplied(parts, () => renderMessage(run, message)) : undefined
}
