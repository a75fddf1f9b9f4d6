// Reads the environment into one checked, frozen Config, and reports all invalid settings at once. The only file that reads
// process.env.
import type { Fault } from '../core/app-error.ts'
import type { DeliveryConfig } from '../core/delivery/delivery-config.ts'
import { LINKS_BASE_NEED, toLinksBase } from '../core/delivery/links-base.ts'
import { counted } from '../core/phrases/counted.ts'
import { findMistyped } from './mistyped-settings.ts'
import { toAttachmentHosts, toMachineNetworks } from './settings/delivery-values.ts'
import { Settings, type Environment } from './settings/settings.ts'
import {
  KEY_NEED,
  toAddresses,
  toHost,
  toKey,
  toNatsUrls,
  toPort,
  toPostgresUrl,
  toSwitch,
} from './settings/setting-values.ts'

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

export interface Config {
  readonly host: string
  readonly port: number
  readonly dataDir: string
  /** If set, the store is PostgreSQL. */
  readonly databaseUrl: string | undefined
  /** The NATS servers of the log, separated by commas; needs `databaseUrl`. */
  readonly natsUrl: string | undefined
  /** 32 bytes; needed by workspaces with encrypted emails. */
  readonly piiKey: Uint8Array | undefined
  /** 32 bytes, for passwords and keys of senders; `settings/secret-key.ts` finds that of an embedded store without this. */
  readonly secretKey: Uint8Array | undefined
  readonly delivery: DeliveryConfig
  /** Proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[]
  /** Whether people may sign in only over https, or at a loopback address. */
  readonly requiresHttps: boolean
  /** Whether frequent simple requests bypass Node's HTTP server (`http/fast-path/`). */
  readonly hasFastPath: boolean
  readonly logLevel: (typeof LOG_LEVELS)[number]
}

/** Names every invalid setting and its valid values; `field` is the variable. */
export class ConfigError extends Error {
  readonly faults: readonly Fault[]

  constructor(faults: readonly Fault[]) {
    super(`The environment has ${counted(faults.length, 'invalid setting')}.`)
    this.name = 'ConfigError'
    this.faults = faults
  }
}

/** What the environment holds: the settings, with defaults in place of invalid ones, every fault, and every warning. */
export interface EnvironmentReading {
  readonly config: Config
  readonly faults: readonly Fault[]
  /** Sentences. */
  readonly warnings: readonly string[]
}

/** Reads the settings. Throws ConfigError with all invalid ones. An empty value counts as not set. */
export function readConfig(environment: Environment = process.env): Config {
  const { config, faults } = readEnvironment(environment)
  if (faults.length > 0) throw new ConfigError(faults)
  return config
}

/** The same for callers that look for further faults, and warn. */
export function readEnvironment(environment: Environment = process.env): EnvironmentReading {
  const settings = new Settings(environment)
  const config: Config = {
    host: settings.read('HOST', '127.0.0.1', toHost, 'an IP address or host name'),
    port: settings.read('PORT', 8080, toPort, 'a port number from 0 to 65535'),
    dataDir: settings.read('DATA_DIR', './data', (text) => text, 'a folder'),
    databaseUrl: settings.readSecret(
      'DATABASE_URL',
      toPostgresUrl,
      'a URL with the name of a database, such as postgres://user:password@host:5432/name',
    ),
    natsUrl: settings.readSecret('NATS_URL', toNatsUrls, 'a comma-separated list of URLs such as nats://host:4222'),
    piiKey: settings.readSecret('PII_KEY', toKey, KEY_NEED),
    secretKey: settings.readSecret('SECRET_KEY', toKey, KEY_NEED),
    delivery: readDelivery(settings),
    trustedProxies: settings.read(
      'TRUSTED_PROXIES',
      [],
      toAddresses,
      'a comma-separated list of IP addresses or networks of /1 or narrower (10.0.0.0/8)',
    ),
    requiresHttps: settings.read('REQUIRE_HTTPS', false, (text) => toSwitch(text, { 1: true, 0: false }), '1 or 0'),
    hasFastPath: settings.read('FAST_PATH', true, (text) => toSwitch(text, { on: true, off: false }), 'on or off'),
    logLevel: settings.read(
      'LOG_LEVEL',
      'info',
      (text) => LOG_LEVELS.find((level) => level === text),
      `one of ${LOG_LEVELS.join(', ')}`,
    ),
  }
  settings.requireWith('NATS_URL', 'DATABASE_URL', 'because the tables are in PostgreSQL')
  return { config: Object.freeze(config), faults: settings.faults, warnings: findMistyped(environment, settings.names) }
}

function readDelivery(settings: Settings): DeliveryConfig {
  return {
    publicUrl: settings.read('PUBLIC_URL', undefined, toLinksBase, LINKS_BASE_NEED),
    allowPlainSmtp: settings.read('ALLOW_PLAIN_SMTP', false, (text) => toSwitch(text, { 1: true, 0: false }), '1 or 0'),
    attachmentHosts: settings.read(
      'ATTACHMENT_HOSTS',
      [],
      toAttachmentHosts,
      'a comma-separated list of host names or IP addresses, without ports',
    ),
    machineNetworks: settings.read(
      'MACHINE_NETWORKS',
      [],
      toMachineNetworks,
      'a comma-separated list of networks, each with what machines do there: 198.51.100.0/24=clicks, =opens or =opens+clicks',
    ),
  }
}

/** For the command `import`: the API key of the tile `data` in DATA_KEY; undefined if it is not set. */
export function readDataKey(environment: Environment = process.env): string | undefined {
  return environment['DATA_KEY']?.trim() || undefined
}

/** For the command `sender add`: the password in SMTP_PASSWORD; undefined if it is not set. It may begin or end with spaces. */
export function readSmtpPassword(environment: Environment = process.env): string | undefined {
  return environment['SMTP_PASSWORD'] || undefined
}
