// The words of Settings › System.
import { formatCounted, formatDecimal } from './format.ts'

export const systemText = {
  title: 'System',
  lead: 'The server itself. All workspaces share it.',
  again: 'Refresh',
  process: 'Process',
  processLead: 'The process that answered. If there are several, each reports only itself.',
  ready: 'Ready',
  notReady: 'Not ready',
  version: 'Tidings',
  node: 'Node',
  roles: 'Roles',
  roleNames: { http: 'answers requests', pipeline: 'processes events', delivery: 'sends campaigns' },
  started: 'Started',
  memory: 'Memory',
  storage: 'Store and log',
  storageLead: 'Where everything is kept.',
  store: 'Store',
  kinds: { sqlite: 'SQLite, in the data directory', postgres: 'PostgreSQL', jetstream: 'NATS JetStream' },
  schema: 'Schema',
  storeSize: 'Size of the store',
  log: 'Log',
  logSize: 'Size of the log',
  lag: 'Waiting in the log',
  lagValue: (entries: number, seconds: number | null) => {
    if (entries === 0) return 'nothing'
    const age = seconds === null ? '' : `, the oldest for ${formatDecimal(seconds)} s`
    return `${formatCounted(entries, 'entry', 'entries')}${age}`
  },
  backup: 'Backup',
  backups: {
    sqlite: {
      lead: 'Copies store and log into one file while the server runs. The server does not keep track of backups.',
      command: 'bin/tidings backup tidings-backup.db',
    },
    postgres: {
      lead: 'Copies the database while the server runs. The server does not keep track of backups.',
      command: 'pg_dump --format custom --file tidings-backup.dump "$DATABASE_URL"',
    },
  },
}
