// `sender add|list|check`: creates senders of a workspace, lists them and checks them. They work on the store, so that a server may
// run meanwhile or not; it reads senders from the store each time.
import { requireWorkspace } from '../../actions/workspaces/require-workspace.ts'
import { recordChange } from '../../actions/audit/record-change.ts'
import { givenFaults, senderWarnings } from '../../actions/senders/sender-faults.ts'
import { rulesOf } from '../../actions/senders/sender-rules.ts'
import { requireSender, storeNewSender } from '../../actions/senders/store-sender.ts'
import type { Config } from '../../app/config.ts'
import { openSecretVault } from '../../app/settings/secret-key.ts'
import { AppError, toShownWarnings } from '../../core/app-error.ts'
import type { SenderCheck } from '../../core/senders/sender-check.ts'
import { runSenderChecks } from '../../delivery/senders/run-sender-checks.ts'
import { OperationValidator } from '../../http/requests/validation.ts'
import { createSender } from '../../operations/senders/create-sender.ts'
import { SenderInput, toSenderBody, toSenderChanges } from '../../operations/senders/sender-body.ts'
import { listSendersOf, lockSenders, type StoredSender } from '../../store/senders/senders.ts'
import type { Store } from '../../store/store.ts'
import { changedByCommand } from '../audit/changed-by-command.ts'
import type { Command } from '../command.ts'
import { withStore } from '../with-store.ts'
import { readSenderBody, SENDER_OPTIONS, toOptionFaults } from './sender-options.ts'

const add: Command = {
  name: 'sender add',
  operands: ['WORKSPACE'],
  options: SENDER_OPTIONS,
  summary: 'Adds a sender: from whom messages come, and through which SMTP server they go.',
  details: [
    'The password comes from the environment variable SMTP_PASSWORD, or with --password-stdin from standard input.',
    'It and the private key are stored encrypted with SECRET_KEY, or for an embedded store with DATA_DIR/secret.key,',
    'which is made if it is missing. Check the new sender with `tidings sender check`.',
  ].join('\n'),
  async run({ config, operands: [workspaceId = ''], option, print }) {
    const body = await readSenderBody({ option })
    const sender = await withStore(config, async (database) => {
      await requireWorkspace(database, workspaceId)
      return database.write(async (store) => {
        await lockSenders(store)
        const added = await addSender(store, config, { workspaceId, body })
        const { id, name } = added
        const change = { kind: 'sender', id, name, action: 'create_sender', after: toSenderBody(added) } as const
        await recordChange(store, changedByCommand(workspaceId), change)
        return added
      })
    })
    const warnings = toShownWarnings(senderWarnings(sender))
    const lines = warnings.map(({ field, problem }) => `Warning: ${field} ${problem}.\n`)
    print({ json: { ...toSenderBody(sender), warnings }, text: `${sender.id}\n${lines.join('')}` })
  },
}

const list: Command = {
  name: 'sender list',
  operands: ['WORKSPACE'],
  options: {},
  summary: 'Lists the senders of a workspace, newest first.',
  async run({ config, operands: [workspaceId = ''], print }) {
    const senders = await withStore(config, async (database) => {
      await requireWorkspace(database, workspaceId)
      return listSendersOf(database, workspaceId)
    })
    print({ json: { senders: senders.map(toSenderBody) }, text: senders.map(toLine).join('') })
  },
}

const check: Command = {
  name: 'sender check',
  operands: ['WORKSPACE', 'SENDER_ID'],
  options: {},
  summary: 'Checks a sender: connects, authenticates, and looks up SPF, DKIM and DMARC. Sends nothing.',
  details: 'The exit status is 1 if a check failed.',
  async run({ config, operands: [workspaceId = '', id = ''], print }) {
    const sender = await withStore(config, async (database) => {
      await requireWorkspace(database, workspaceId)
      return requireSender(database, workspaceId, id)
    })
    const checks = await runSenderChecks(sender, openSecretVault(config))
    const isFailure = checks.some(({ result }) => result === 'failed')
    print({ json: { checks }, text: checks.map(toCheckLine).join(''), isFailure })
  },
}

export const senderCommands: readonly Command[] = [add, list, check]

/** Names everything wrong with the options at once. */
async function addSender(
  store: Store,
  config: Config,
  { workspaceId, body }: { readonly workspaceId: string; readonly body: object },
): Promise<StoredSender> {
  const checked = new OperationValidator(createSender).body(SenderInput, { value: body, hasLongNumbers: false })
  const changes = toSenderChanges(checked.value as Parameters<typeof toSenderChanges>[0])
  const faults = [...checked.faults, ...givenFaults(changes)]
  if (faults.length > 0) throw refused(toOptionFaults(faults))
  const vault = openSecretVault(config)
  const rules = rulesOf({ delivery: config.delivery, secretVault: vault })
  try {
    return await storeNewSender(store, changes, { workspaceId, rules, vault, now: Date.now() })
  } catch (error) {
    if (!(error instanceof AppError) || error.details.length === 0) throw error
    throw refused(toOptionFaults(error.details))
  }
}

function refused(faults: AppError['details']): AppError {
  return new AppError('invalid_request', 'The sender was not added.', faults)
}

function toLine({ id, name, fromEmail, smtp }: StoredSender): string {
  return `${id}  ${name}  <${fromEmail}>  ${smtp.host}:${smtp.port} ${smtp.security}\n`
}

function toCheckLine({ check, result, detail }: SenderCheck): string {
  return `${check.padEnd('authentication'.length)}  ${result.padEnd('warning'.length)}  ${detail}\n`
}
