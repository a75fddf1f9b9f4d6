// Looks up what the domains of a sender say in DNS: SPF (RFC 7208), DKIM (RFC 6376) and DMARC (RFC 7489).
import dns from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { dkimPublicKeyOf, isSameDkimKey } from '../../actions/senders/dkim-private-key.ts'
import { shortenMiddle } from '../../core/bounded-text.ts'
import { areAligned, toDnsDomain } from '../../core/senders/domain-name.ts'
import type { CheckOutcome } from '../../core/senders/sender-check.ts'
import { domainOf, envelopeDomainOf, type DkimName, type Sender } from '../../core/senders/sender.ts'
import { codeOf } from '../../core/thrown.ts'

/** For one question to one server, and how often it is asked. */
const ANSWER_MS_MAX = 2_000
const TRIES = 2
/** For all questions of one sender. */
const ALL_MS_MAX = 10_000
/** Domains without DMARC are followed upwards so many times. */
const PARENTS_MAX = 5
const ABSENT = new Set(['ENOTFOUND', 'ENODATA'])

export interface DnsOutcomes {
  readonly spf: CheckOutcome
  readonly dkim: CheckOutcome
  readonly dmarc: CheckOutcome
}

/** `openKey` returns the private key of a sender with DKIM, or why it cannot be opened. Asks the resolvers of this process. */
export async function checkDns(sender: Sender, openKey: () => string | Error): Promise<DnsOutcomes> {
  const resolver = new Resolver({ timeout: ANSWER_MS_MAX, tries: TRIES })
  // Through the module: a named import would keep the servers of the time when it was loaded.
  resolver.setServers(dns.getServers())
  const late = setTimeout(() => resolver.cancel(), ALL_MS_MAX)
  try {
    const lookUp: LookUp = (name) => lookUpTexts(resolver, name)
    const [spf, dkim, dmarc] = await Promise.all([
      checkSpf(envelopeDomainOf(sender), lookUp),
      checkDkim(sender.dkim, { lookUp, openKey }),
      checkDmarc(sender, lookUp),
    ])
    return { spf, dkim, dmarc }
  } finally {
    clearTimeout(late)
  }
}

/** The TXT records of a name; undefined if nobody knows them now. */
type LookUp = (name: string) => Promise<readonly string[] | undefined>

async function lookUpTexts(resolver: Resolver, name: string): Promise<readonly string[] | undefined> {
  try {
    return (await resolver.resolveTxt(name)).map((parts) => parts.join(''))
  } catch (error) {
    return ABSENT.has(codeOf(error) ?? '') ? [] : undefined
  }
}

async function checkSpf(domain: string, lookUp: LookUp): Promise<CheckOutcome> {
  const name = toDnsDomain(domain) ?? domain
  const texts = await lookUp(name)
  if (!texts) return unanswered(name)
  const records = texts.filter((text) => /^v=spf1(?: |$)/i.test(text))
  const [record = ''] = records
  if (records.length === 0) return warning(`${name} has no SPF record.`)
  if (records.length > 1) return failed(`${name} has ${records.length} SPF records, and may have only one.`)
  if (/ \+?all(?: |$)/i.test(record)) return warning(`${name} lets every server send: ${shortenMiddle(record)}`)
  return ok(`${name} has the SPF record ${shortenMiddle(record)}`)
}

async function checkDkim(
  dkim: DkimName | null,
  { lookUp, openKey }: { readonly lookUp: LookUp; readonly openKey: () => string | Error },
): Promise<CheckOutcome> {
  if (!dkim) return warning('The sender has no DKIM key, so its messages are not signed.')
  const privateKey = openKey()
  if (privateKey instanceof Error) return failed(privateKey.message)
  const own = dkimPublicKeyOf(privateKey)
  const name = `${dkim.selector}._domainkey.${toDnsDomain(dkim.domain) ?? dkim.domain}`
  const texts = await lookUp(name)
  if (!texts) return unanswered(name)
  const needed = `v=DKIM1; k=${own.type}; p=${own.text}`
  const records = texts.map(readTags).filter((tags) => tags.has('p'))
  if (records.length === 0) return failed(`${name} has no DKIM record. Publish this TXT record there: ${needed}`)
  if (records.length > 1) return failed(`${name} has ${records.length} DKIM records, and may have only one.`)
  const [tags = new Map<string, string>()] = records
  if (tags.get('p') === '') return failed(`${name} says that the key is revoked.`)
  const isOwn = (tags.get('k') ?? 'rsa') === own.type && isSameDkimKey(own, (tags.get('p') ?? '').replaceAll(/\s/g, ''))
  if (!isOwn) return failed(`${name} has the public key of another private key. The TXT record must be: ${needed}`)
  if (tags.get('t')?.split(':').includes('y')) return warning(`${name} says that DKIM is only being tested (t=y).`)
  return ok(`${name} has the public key of the sender.`)
}

/** The policy of the domain, or of the nearest domain above it that has one. */
async function checkDmarc(sender: Sender, lookUp: LookUp): Promise<CheckOutcome> {
  const domain = toDnsDomain(domainOf(sender.fromEmail)) ?? domainOf(sender.fromEmail)
  for (const at of withParents(domain)) {
    const name = `_dmarc.${at}`
    const texts = await lookUp(name)
    if (!texts) return unanswered(name)
    const records = texts.filter((text) => /^v=DMARC1\s*(?:;|$)/.test(text))
    const [record = ''] = records
    if (records.length > 1) return failed(`${name} has ${records.length} DMARC records, and may have only one.`)
    if (records.length === 1) return judgePolicy(sender, { name, domain, record })
  }
  return warning(`Neither _dmarc.${domain} nor a domain above it has a DMARC record.`)
}

function judgePolicy(
  { dkim, returnPathDomain }: Sender,
  { name, domain, record }: { readonly name: string; readonly domain: string; readonly record: string },
): CheckOutcome {
  const shown = `${name} has the DMARC record ${shortenMiddle(record)}`
  const policy = readTags(record).get('p')?.toLowerCase()
  if (policy === undefined || !['none', 'quarantine', 'reject'].includes(policy)) return failed(`${shown}: p is wrong.`)
  const isAligned = areAligned(returnPathDomain ?? domain, domain) || (dkim !== null && areAligned(dkim.domain, domain))
  if (isAligned) return ok(shown)
  return warning(`${shown}, but neither the DKIM domain nor the return_path_domain belongs to ${domain}.`)
}

/** The domain, and those above it with at least two labels. */
function withParents(domain: string): string[] {
  const labels = domain.split('.')
  const starts = Array.from({ length: Math.max(1, labels.length - 1) }, (_, start) => start)
  return starts.slice(0, PARENTS_MAX).map((start) => labels.slice(start).join('.'))
}

function readTags(record: string): ReadonlyMap<string, string> {
  const tags = record.split(';').map((tag) => /^\s*(\w+)\s*=(.*)$/s.exec(tag))
  return new Map(tags.flatMap((match) => (match ? [[match[1] ?? '', (match[2] ?? '').trim()] as const] : [])))
}

function ok(detail: string): CheckOutcome {
  return { result: 'ok', detail }
}

function warning(detail: string): CheckOutcome {
  return { result: 'warning', detail }
}

function failed(detail: string): CheckOutcome {
  return { result: 'failed', detail }
}

function unanswered(name: string): CheckOutcome {
  return { result: 'unknown', detail: `The resolver gave no answer about ${name}.` }
}
