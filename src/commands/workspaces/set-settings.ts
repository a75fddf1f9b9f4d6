// Changes settings of a workspace by `KEY=VALUE` texts, as `workspace set` takes them.
import { existsSync } from 'node:fs'
import { changeStoredSettings } from '../../actions/workspaces/change-settings.ts'
import { findClosest } from '../../app/closest-name.ts'
import type { Config } from '../../app/config.ts'
import { openSecretVault } from '../../app/settings/secret-key.ts'
import { AppError, type Fault } from '../../core/app-error.ts'
import { isFeedbackSetting } from '../../core/delivery/delivery-settings.ts'
import { SETTING_KEYS, type SettingTexts, type Workspace } from '../../core/workspace.ts'
import type { LogReader } from '../../log/event-log.ts'
import { isEmbedded, logPathOf, openLogReader } from '../../log/open-log.ts'
import type { Database } from '../../store/store.ts'
import { changedByCommand } from '../audit/changed-by-command.ts'

export interface Assigned {
  readonly id: string
  readonly assignments: readonly string[]
}

export async function setSettings(
  database: Database,
  config: Config,
  { id, assignments }: Assigned,
): Promise<Workspace> {
  const { texts, faults } = readAssignments(assignments)
  let log: LogReader | undefined
  const openLog = async () => {
    // Before the first start there is no log yet, and this must not create one.
    if (isEmbedded(config) && !existsSync(logPathOf(config))) return undefined
    return (log ??= await openLogReader(config))
  }
  const refuse = (all: readonly Fault[]) =>
    new AppError('invalid_request', 'The values are invalid; nothing was changed.', all)
  try {
    const wanted = { by: changedByCommand(id), texts, faults, refuse }
    const needs = { vault: openNeededVault(config, texts), canEncryptEmails: config.piiKey !== undefined, openLog }
    return (await changeStoredSettings(database, wanted, needs)).after.workspace
  } finally {
    await log?.close()
  }
}

/** Undefined if there is nothing to encrypt, or no key: so a store gets one only when it needs one. */
function openNeededVault(config: Config, texts: SettingTexts) {
  return Object.keys(texts).some(isFeedbackSetting) ? openSecretVault(config) : undefined
}

function readAssignments(assignments: readonly string[]): { texts: Record<string, string>; faults: Fault[] } {
  const texts = new Map<string, string>()
  const faults: Fault[] = []
  for (const assignment of assignments) {
    const [, key, text] = /^([^=]+)=(.*)$/s.exec(assignment) ?? []
    if (key === undefined || text === undefined) faults.push({ field: assignment, problem: 'must be KEY=VALUE' })
    else if (!SETTING_KEYS.includes(key)) faults.push({ field: key, problem: unknownProblem(key) })
    else if (texts.has(key)) faults.push({ field: key, problem: 'can be given only once' })
    else texts.set(key, text)
  }
  return { texts: Object.fromEntries(texts), faults }
}

function unknownProblem(key: string): string {
  const closest = findClosest(key, SETTING_KEYS)
  return closest === undefined ? 'is not a workspace setting' : `is not a workspace setting; did you mean ${closest}?`
}
