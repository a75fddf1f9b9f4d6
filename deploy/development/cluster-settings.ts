// What can be set for `npm run cluster`, all from the environment, and its help.
import { readConfig } from '../../src/app/config.ts'

/** Where the log is kept. */
const LOGS = ['jetstream', 'postgres'] as const
export type ClusterLog = (typeof LOGS)[number]

/** The most processes of one role. */
const PROCESSES_MAX = 16

const VARIABLES: readonly (readonly [name: string, fallback: string, meaning: string])[] = [
  ['PORT', '8080', 'Where the balancer listens, on 127.0.0.1; 0 takes any that is free.'],
  ['DATABASE_URL', 'none', 'A PostgreSQL database. Without it one is made at postgres://postgres@127.0.0.1:5432:'],
  ['', '', 'tidings_cluster, or tidings_cluster_jetstream, because a database belongs to one log.'],
  ['CLUSTER_LOG', 'see right', 'jetstream or postgres; without it jetstream where nats-server is found.'],
  ['NATS_SERVER', 'nats-server', 'The program of NATS.'],
  ['DATA_DIR', './data/cluster', 'Where the NATS servers keep the log, and their diagnostics.'],
  ['CLUSTER_HTTP', '2', `Processes that serve requests, 1 to ${PROCESSES_MAX}.`],
  ['CLUSTER_PIPELINES', '2', `Processes that follow the log, 1 to ${PROCESSES_MAX}.`],
  ['LOG_LEVEL', 'warn', 'Diagnostics of all processes, on standard error.'],
  ['PII_KEY', 'none', 'For workspaces with encrypted emails.'],
]

export const HELP = [
  'Usage: npm run cluster',
  '',
  'Starts Tidings as many processes on this machine, for development: HTTP processes behind a small balancer, pipelines,',
  'three NATS servers where nats-server is found, and PostgreSQL, which must be running. Ctrl-C ends what was started.',
  'docs/cluster.md tells the rest.',
  '',
  ...VARIABLES.map(([name, fallback, meaning]) => `  ${name.padEnd(18)} ${fallback.padEnd(15)} ${meaning}`),
  '',
].join('\n')

export interface ClusterSettings {
  readonly port: number
  readonly databaseUrl: string | undefined
  /** Undefined: whatever is found. */
  readonly log: ClusterLog | undefined
  readonly natsServer: string
  readonly dataDir: string
  readonly httpProcesses: number
  readonly pipelines: number
  /** For every process. */
  readonly logLevel: string
}

/** Throws ConfigError for what the program itself would refuse, and an Error for what only this script knows. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): ClusterSettings {
  const text = (name: string, fallback: string) => environment[name]?.trim() || fallback
  // The program's own rules hold for what is passed on to it.
  const { port, databaseUrl } = readConfig({ ...environment, NATS_URL: '' })
  const count = (name: string) => {
    const processes = Number(text(name, '2'))
    if (Number.isInteger(processes) && processes >= 1 && processes <= PROCESSES_MAX) return processes
    throw new Error(`${name} must be a number from 1 to ${PROCESSES_MAX}.`)
  }
  const wanted = text('CLUSTER_LOG', '')
  const log = LOGS.find((known) => known === wanted)
  if (wanted !== '' && log === undefined) throw new Error(`CLUSTER_LOG must be one of ${LOGS.join(', ')}.`)
  return {
    port,
    databaseUrl,
    log,
    natsServer: text('NATS_SERVER', 'nats-server'),
    dataDir: text('DATA_DIR', './data/cluster'),
    httpProcesses: count('CLUSTER_HTTP'),
    pipelines: count('CLUSTER_PIPELINES'),
    logLevel: text('LOG_LEVEL', 'warn'),
  }
}
