// Reads the environment into one checked, frozen Config, and reports all invalid settings at once. The only file that reads
// process.env.
import { isIP } from 'node:net'
import type { Fault } from '../core/app-error.ts'
import { shortenMiddle } from '../core/bounded-text.ts'
import { counted } from '../core/phrases/counted.ts'
import { PII_KEY_BYTES } from '../store/users/email-vault.ts'
import { findMistyped } from './mistyped-settings.ts'

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
  /** Proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[]
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

type Environment = Readonly<Record<string, string | undefined>>

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
    piiKey: settings.readSecret(
      'PII_KEY',
      toKey,
      `${PII_KEY_BYTES} bytes in base64, such as the output of \`openssl rand -base64 32\``,
    ),
    trustedProxies: settings.read(
      'TRUSTED_PROXIES',
      [],
      toAddresses,
      'a comma-separated list of IP addresses or networks of /1 or narrower (10.0.0.0/8)',
    ),
    hasFastPath: settings.read('FAST_PATH', true, toSwitch, 'on or off'),
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

/** Reads single settings, and collects their names and faults. */
class Settings {
  readonly names: string[] = []
  readonly faults: Fault[] = []
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  /** `parse` returns undefined for an invalid value; the fault then says `need` and the value. */
  read<Value>(name: string, fallback: Value, parse: (text: string) => Value | undefined, need: string): Value {
    const text = this.#textOf(name)
    return this.#parse(name, parse, `${need}, not ${JSON.stringify(shortenMiddle(text ?? ''))}`) ?? fallback
  }

  /** The same for a value that may contain a password: the fault never shows it. */
  readSecret<Value>(name: string, parse: (text: string) => Value | undefined, need: string): Value | undefined {
    const length = this.#textOf(name)?.length ?? 0
    return this.#parse(name, parse, `${need}; the value given, of ${counted(length, 'character')}, may be secret`)
  }

  /** Adds a fault if one setting is set without the other, which it needs. */
  requireWith(name: string, needed: string, reason: string): void {
    if (this.#textOf(name) === undefined || this.#textOf(needed) !== undefined) return
    this.faults.push({ field: needed, problem: `must be set when ${name} is set, ${reason}` })
  }

  #textOf(name: string): string | undefined {
    return this.#environment[name]?.trim() || undefined
  }

  #parse<Value>(name: string, parse: (text: string) => Value | undefined, need: string): Value | undefined {
    this.names.push(name)
    const text = this.#textOf(name)
    const value = text === undefined ? undefined : parse(text)
    if (text !== undefined && value === undefined) this.faults.push({ field: name, problem: `must be ${need}` })
    return value
  }
}

/** For the command `import`: the API key of the tile `data` in DATA_KEY; undefined if it is not set. */
export function readDataKey(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  return environment['DATA_KEY']?.trim() || undefined
}

/** Labels with dots between them. */
const HOST_NAME = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i
/** Digits and dots: meant as an IPv4 address, so not a host name. */
const LIKE_IPV4 = /^[\d.]*\.[\d.]*$/

function toHost(text: string): string | undefined {
  return isIP(text) !== 0 || (HOST_NAME.test(text) && !LIKE_IPV4.test(text)) ? text : undefined
}

function toPort(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined
}

/**
 * Accepts only URLs that the driver can parse: it decodes the parts, and hangs on an invalid port. Without a name it would use the
 * database that is named as the user, which may belong to something else.
 */
function toPostgresUrl(text: string): string | undefined {
  const url = URL.parse(text)
  if (!url || !/^postgres(?:ql)?:$/.test(url.protocol)) return undefined
  const { username, password, hostname, pathname, searchParams } = url
  const port = searchParams.get('port') ?? ''
  const isNamed = pathname.length > 1
  const isParsable =
    [username, password, hostname, pathname].every(isDecodable) && (port === '' || toPort(port) !== undefined)
  return isNamed && isParsable ? text : undefined
}

function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part)
    return true
  } catch {
    return false
  }
}

function toSwitch(text: string): boolean | undefined {
  return text === 'on' || text === 'off' ? text === 'on' : undefined
}

function toNatsUrls(text: string): string | undefined {
  const urls = text.split(',').map((url) => url.trim())
  return urls.every(isNatsUrl) ? urls.join(',') : undefined
}

/** User and password must be decodable, because they are decoded before they are sent. */
function isNatsUrl(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^(?:nats|tls):$/.test(url.protocol) && [url.username, url.password].every(isDecodable)
}

function toKey(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return undefined
  const key = Buffer.from(text, 'base64')
  return key.byteLength === PII_KEY_BYTES ? key : undefined
}

function toAddresses(text: string): string[] | undefined {
  const addresses = text.split(',').map((address) => address.trim())
  return addresses.every(isAddressOrNetwork) ? addresses : undefined
}

const NETWORK = /^(?<address>[^/%]+(?:%[0-9a-z]+)?)(?:\/(?<prefix>\d{1,3}))?$/i

/** Accepts only what Fastify accepts: it throws for a network of /0, and for a zone with more than letters and digits. */
function isAddressOrNetwork(text: string): boolean {
  const { address = '', prefix = '1' } = NETWORK.exec(text)?.groups ?? {}
  const bitsMax = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0
  return Number(prefix) >= 1 && Number(prefix) <= bitsMax
}
