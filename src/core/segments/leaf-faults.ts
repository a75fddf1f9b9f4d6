// Finds the faults of the leaves of a condition.
import { NAME_LENGTH_MAX } from '../attributes.ts'
import { checkAttribute, checkInstant, checkPeriod, checkWhere } from './value-faults.ts'
import type { FaultList, SentObject } from './fault-list.ts'
import { OPT_IN_STATUSES } from '../users/preference.ts'

export const LEAF_KINDS = ['attribute', 'event', 'campaign', 'preference', 'created', 'segment'] as const
export type LeafKind = (typeof LEAF_KINDS)[number]

/** The most times that a condition can count an event. */
export const TIMES_MAX = 10_000
const ID_LENGTH_MAX = 256

/** What the workspace allows in conditions. */
export interface LeafSettings {
  readonly timezone: string
  readonly categories: readonly string[]
  readonly emailProtection: 'none' | 'tokenized' | 'encrypted'
}

export interface SentLeaf {
  readonly sent: SentObject
  readonly field: string
  readonly kind: LeafKind
}

type Check = (faults: FaultList, leaf: Omit<SentLeaf, 'kind'>, settings: LeafSettings) => void

const CHECKS: Readonly<Record<LeafKind, Check>> = {
  attribute: checkAttribute,
  event: checkEvent,
  campaign: checkCampaign,
  preference: checkPreference,
  created: checkCreated,
  segment(faults, { sent, field }) {
    faults.object(sent, field, ['segment'])
    faults.text(sent['segment'], `${field}.segment`, ID_LENGTH_MAX)
  },
}

export function checkLeaf(faults: FaultList, { kind, ...leaf }: SentLeaf, settings: LeafSettings): void {
  CHECKS[kind](faults, leaf, settings)
}

function checkEvent(faults: FaultList, { sent, field }: Omit<SentLeaf, 'kind'>, settings: LeafSettings): void {
  faults.object(sent, field, ['event', 'did', 'times', 'within_days', 'between', 'where'])
  faults.text(sent['event'], `${field}.event`, NAME_LENGTH_MAX)
  faults.oneOf(sent['did'], `${field}.did`, [true, false])
  if (Object.hasOwn(sent, 'times')) checkTimes(faults, sent, `${field}.times`)
  if (Object.hasOwn(sent, 'within_days') && Object.hasOwn(sent, 'between')) {
    faults.add(`${field}.between`, 'must not be combined with within_days')
  }
  checkPeriod(faults, sent, field, settings.timezone)
  if (Object.hasOwn(sent, 'where')) checkWhere(faults, sent['where'], `${field}.where`)
}

function checkTimes(faults: FaultList, { did, times }: SentObject, field: string): void {
  if (did === false) return faults.add(field, 'must not be combined with did false')
  const names = ['at_least', 'at_most', 'exactly']
  const sent = faults.object(times, field, names)
  const name = sent && faults.exactlyOne(sent, field, names)
  if (name === undefined) return
  faults.whole(sent?.[name], `${field}.${name}`, { min: name === 'at_least' ? 1 : 0, max: TIMES_MAX })
}

function checkCampaign(faults: FaultList, { sent, field }: Omit<SentLeaf, 'kind'>, settings: LeafSettings): void {
  faults.object(sent, field, ['campaign', 'did', 'within_days'])
  faults.text(sent['campaign'], `${field}.campaign`, ID_LENGTH_MAX)
  faults.oneOf(sent['did'], `${field}.did`, ['sent', 'impression', 'click'])
  checkPeriod(faults, sent, field, settings.timezone)
}

function checkPreference(faults: FaultList, leaf: Omit<SentLeaf, 'kind'>, { categories }: LeafSettings): void {
  const field = `${leaf.field}.preference`
  faults.object(leaf.sent, leaf.field, ['preference'])
  const sent = faults.object(leaf.sent['preference'], field, ['opt_in_status', 'category', 'is'])
  const form = sent && faults.exactlyOne(sent, field, ['opt_in_status', 'category'])
  if (!sent || form === undefined) return
  if (form === 'opt_in_status') {
    if (Object.hasOwn(sent, 'is')) faults.add(`${field}.is`, 'must not be combined with opt_in_status')
    const statuses = faults.list(sent[form], `${field}.${form}`, { max: OPT_IN_STATUSES.length })
    for (const [index, status] of statuses.entries())
      faults.oneOf(status, `${field}.${form}[${index}]`, OPT_IN_STATUSES)
    return
  }
  const isKnown = typeof sent[form] === 'string' && categories.includes(sent[form])
  if (!isKnown) faults.add(`${field}.${form}`, 'must be a category of the workspace')
  faults.oneOf(sent['is'], `${field}.is`, [true, false, 'never_asked'])
}

function checkCreated(faults: FaultList, leaf: Omit<SentLeaf, 'kind'>, { timezone }: LeafSettings): void {
  const field = `${leaf.field}.created`
  faults.object(leaf.sent, leaf.field, ['created'])
  const sent = faults.object(leaf.sent['created'], field, ['before', 'after'])
  if (!sent) return
  const given = ['before', 'after'].filter((name) => Object.hasOwn(sent, name))
  if (given.length === 0) faults.add(field, 'must have before or after')
  for (const name of given) checkInstant(faults, sent[name], `${field}.${name}`, timezone)
}
