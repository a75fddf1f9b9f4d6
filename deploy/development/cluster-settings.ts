// The settings of `npm run cluster`, which it reads from the environment, and its help.
import { readConfig } from '../../src/app/config.ts'

/** Where the log is. */
const LOGS = ['jetstream', 'postgres'] as const
export type ClusterLog = (typeof LOGS)[number]

/** Per role. */
const PROCESSES_MAX = 16

const VARIABLES: readonly (readonly [name: string, fallback: string, meaning: string])[] = [
  [
    'PORT',
    '8080',
    'The port of the balancer on 127.0.0.1. 0 takes a free one, and so does the default if it is in use.',
  ],
  [
    'DATABASE_URL',
    'none',
    'A PostgreSQL database to use and keep. Without it the script creates one at postgres://postgres@127.0.0.1:5432,',
  ],
  ['', '', 'and drops it at the end with the log.'],
  ['CLUSTER_LOG', 'automatic', 'jetstream or postgres; by default jetstream if nats-server is installed.'],
  ['NATS_SERVER', 'nats-server', 'The NATS server program.'],
  [
    'DATA_DIR',
    './data/cluster',
    'The folder of the NATS servers: the log, and their diagnostics. Kept only with DATABASE_URL.',
  ],
  ['CLUSTER_HTTP', '2', `Processes that serve requests, 1 to ${PROCESSES_MAX}.`],
  ['CLUSTER_PIPELINES', '2', `Processes that follow the log, 1 to ${PROCESSES_MAX}.`],
  ['LOG_LEVEL', 'warn', 'Diagnostics of all processes, on standard error.'],
  ['PII_KEY', 'none', 'For workspaces with encrypted emails.'],
  ['PUBLIC_URL', 'the balancer', 'The base of the links in mails.'],
  ['SECRET_KEY', 'none', 'For senders with passwords and private keys.'],
]

export const HELP = [
  'Usage: npm run cluster',
  '',
  'Starts a cluster of Tidings on this machine, for development: HTTP processes behind a small balancer, pipelines, a process that sends',
  'campaigns, and three NATS servers if nats-server is installed. PostgreSQL must be running. Ctrl-C stops everything that it started and removes its data.',
  'See docs/cluster.md.',
  '',
  ...VARIABLES.map(([name, fallback, meaning]) => `  ${name.padEnd(18)} ${fallback.padEnd(15)} ${meaning}`),
  '',
].join('\n')

export interface ClusterSettings {
  readonly port: number
  /** Whether PORT is set: then no other port will do. */
  readonly isPortChosen: boolean
  readonly databaseUrl: string | undefined
  /** Undefined: jetstream if nats-server is installed, else postgres. */
  readonly log: ClusterLog | undefined
  readonly natsServer: string
  readonly dataDir: string
  /** Undefined: the address of the balancer. */
  readonly publicUrl: string | undefined
  readonly httpProcesses: number
  readonly pipelines: number
  /** For every process. */
  readonly logLevel: string
}

/** Throws ConfigError for settings that Tidings itself would refuse, and an Error for those of this script. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): ClusterSettings {
  const text = (name: string, fallback: string) => environment[name]?.trim() || fallback
  // Tidings validates the settings that are passed on to it.
  const { port, databaseUrl } = readConfig({ ...environment, NATS_URL: '' })
  const count = (name: string) => {
    const processes = Number(text(name, '2'))
    if (Number.isInteger(processes) && processes >= 1 && processes <= PROCESSES_MAX) return processes
    throw new Error(`${name} must be a number from 1 to ${PROCESSES_MAX}.`)
  }
  const name = text('CLUSTER_LOG', '')
  const log = LOGS.find((log) => log === name)
  if (name !== '' && log === undefined) throw new Error(`CLUSTER_LOG must be one of ${LOGS.join(', ')}.`)
  return {
    port,
    isPortChosen: text('PORT', '') !== '',
    databaseUrl,
    log,
    natsServer: text('NATS_SERVER', 'nats-server'),
    dataDir: text('DATA_DIR', './data/cluster'),
    publicUrl: environment['PUBLIC_URL']?.trim() || undefined,
    httpProcesses: count('CLUSTER_HTTP'),
    pipelines: count('CLUSTER_PIPELINES'),
    logLevel: text('LOG_LEVEL', 'warn'),
  }
}
