// `backup FILE` and `restore FILE`: copy the embedded store and its log into one file, and back.
import { resolve } from 'node:path'
import type { Config } from '../../app/config.ts'
import { AppError } from '../../core/app-error.ts'
import { counted } from '../../core/phrases/counted.ts'
import { requireStore } from '../../app/data-dir.ts'
import type { Command } from '../command.ts'
import { restoreBackup } from './restore-backup.ts'
import { writeBackup } from './write-backup.ts'

const backup: Command = {
  name: 'backup',
  operands: ['FILE'],
  options: {},
  summary: 'Backs up the whole store into one consistent file, even while the server runs.',
  details: [
    'FILE must not exist. The backup contains neither PII_KEY nor SECRET_KEY nor DATA_DIR/secret.key: store them elsewhere.',
    'After a restore without that key, the passwords of senders must be set again.',
    'An interrupted backup leaves FILE.unfinished-… behind. Nothing reads that file, so you can delete it.',
    'A store of an older version is copied unchanged. That version can restore it if you need to undo an upgrade.',
  ].join('\n'),
  async run({ config, operands: [name = ''], print }) {
    refusePostgres(config, 'pg_dump')
    const file = toFile(name)
    requireStore(config.dataDir)
    const bytes = await writeBackup(config.dataDir, file)
    print({ json: { file, bytes }, text: `${file} (${counted(bytes, 'byte')})\n` })
  },
}

const restore: Command = {
  name: 'restore',
  operands: ['FILE'],
  options: {},
  summary: 'Restores a backup into an empty DATA_DIR. Never overwrites data.',
  details: [
    'Everybody must sign in again: sessions that ended after the backup do not come back. People, roles, passwords and keys',
    'are those of the backup, also what was removed or replaced since.',
  ].join('\n'),
  async run({ config, operands: [name = ''], print }) {
    refusePostgres(config, 'pg_restore')
    const file = toFile(name)
    await restoreBackup(file, config.dataDir)
    const dataDir = resolve(config.dataDir)
    print({ json: { file, data_dir: dataDir }, text: `Restored ${file} into ${dataDir}.\n` })
  },
}

export const backupCommands: readonly Command[] = [backup, restore]

/** The absolute path. `-` means standard output elsewhere, and a backup is written in more than one pass. */
function toFile(name: string): string {
  if (name !== '' && name !== '-') return resolve(name)
  const problem = 'must be the path of a file; standard input and output are not supported'
  throw new AppError('invalid_request', 'The backup cannot be found by this name.', [{ field: 'FILE', problem }])
}

function refusePostgres({ databaseUrl, natsUrl }: Config, tool: string): void {
  if (databaseUrl === undefined) return
  const message =
    natsUrl === undefined
      ? `DATABASE_URL is set, so the tables and the log are in PostgreSQL: use ${tool}.`
      : `DATABASE_URL is set, so the tables are in PostgreSQL: use ${tool}. The log is in NATS and has its own backup.`
  throw new AppError('invalid_request', `${message} See "Backups" in docs/cluster.md.`)
}
