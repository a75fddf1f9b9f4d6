// `backup FILE` and `restore FILE`: everything of the embedded store and log in one file, and back.
import { resolve } from 'node:path'
import type { Config } from '../../config.ts'
import { AppError } from '../../core/app-error.ts'
import { requireStore } from '../../data-dir.ts'
import type { Command } from '../command.ts'
import { restoreBackup } from './restore-backup.ts'
import { writeBackup } from './write-backup.ts'

const backup: Command = {
  name: 'backup',
  operands: ['FILE'],
  options: {},
  summary: 'Writes one consistent file of everything, also while the server runs.',
  details: [
    'FILE must not be there yet. Keep PII_KEY elsewhere: it is not in the backup.',
    'What is ended before it is done leaves FILE.unfinished-… behind, which nothing reads and you may remove.',
    'A store of an older version is copied as it is, and can be restored by that version: the way back after an upgrade.',
  ].join('\n'),
  async run({ config, operands: [name = ''], print }) {
    refusePostgres(config, 'pg_dump')
    requireStore(config.dataDir)
    const file = resolve(name)
    const bytes = await writeBackup(config.dataDir, file)
    print({ json: { file, bytes }, text: `${file} (${bytes} bytes)\n` })
  },
}

const restore: Command = {
  name: 'restore',
  operands: ['FILE'],
  options: {},
  summary: 'Fills an empty DATA_DIR from a backup; refuses to overwrite data.',
  async run({ config, operands: [name = ''], print }) {
    refusePostgres(config, 'pg_restore')
    const file = resolve(name)
    await restoreBackup(file, config.dataDir)
    const dataDir = resolve(config.dataDir)
    print({ json: { file, data_dir: dataDir }, text: `${dataDir} holds what ${file} held.\n` })
  },
}

export const backupCommands: readonly Command[] = [backup, restore]

function refusePostgres({ databaseUrl, natsUrl }: Config, tool: string): void {
  if (databaseUrl === undefined) return
  const message =
    natsUrl === undefined
      ? `With DATABASE_URL tables and log are in PostgreSQL: use ${tool}.`
      : `With DATABASE_URL the tables are in PostgreSQL: use ${tool}. The log is a stream of NATS, with a backup of its own.`
  throw new AppError('invalid_request', `${message} See "Backups" in docs/cluster.md.`)
}
