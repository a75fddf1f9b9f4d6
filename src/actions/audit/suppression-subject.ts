// How the audit trail names a suppressed address: by a keyed hash. Those who know the address find what was done with it; nobody learns
// it from the trail, so that a person who is erased does not live on there.
import { createHmac } from 'node:crypto'
import type { Workspace } from '../../core/workspace.ts'

/** 128 bits: no two addresses share a subject. */
const SUBJECT_DIGITS = 32

/** `emailKey`: as `toEmailKey` makes it. The key of links is a secret of the workspace that never changes. */
export function toSuppressionSubject({ linkKey }: Pick<Workspace, 'linkKey'>, emailKey: string): string {
  return createHmac('sha256', linkKey).update(`audit\0${emailKey}`).digest('hex').slice(0, SUBJECT_DIGITS)
}
