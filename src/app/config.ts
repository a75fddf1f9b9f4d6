// Reads the environment into one checked, frozen Config, and reports all invalid settings at once. The only file that reads
// process.env.
import { isIP } from 'node:net'
import type { Fault } from '../core/app-error.ts'
import { PII_KEY_BYTES } from '../store/users/email-vault.ts'

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
    super(`The environment has ${faults.length} invalid ${faults.length === 1 ? 'setting' : 'settings'}.`)
    this.name = 'ConfigError'
    this.faults = faults
  }
}

/** Reads the settings. Throws ConfigError with all invalid ones. An empty value counts as not set. */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  const faults: Fault[] = []
  const read = <Value>(
    name: string,
    fallback: Value,
    parse: (text: string) => Value | undefined,
    need: string,
  ): Value => {
    const text = environment[name]?.trim()
    if (text === undefined || text === '') return fallback
    const value = parse(text)
    if (value === undefined) faults.push({ field: name, problem: `must be ${need}` })
    return value ?? fallback
  }
  const config: Config = {
    host: read('HOST', '127.0.0.1', toHost, 'an IP address or host name'),
    port: read('PORT', 8080, toPort, 'a port number from 0 to 65535'),
    dataDir: environment['DATA_DIR']?.trim() || './data',
    databaseUrl: read(
      'DATABASE_URL',
      undefined,
      toPostgresUrl,
      'a URL with the name of a database, such as postgres://user:password@host:5432/name',
    ),
    natsUrl: read('NATS_URL', undefined, toNatsUrls, 'a comma-separated list of URLs such as nats://host:4222'),
    piiKey: read(
      'PII_KEY',
      undefined,
      toKey,
      `${PII_KEY_BYTES} bytes in base64, such as the output of \`openssl rand -base64 32\``,
    ),
    trustedProxies: read(
      'TRUSTED_PROXIES',
      [],
      toAddresses,
      'a comma-separated list of IP addresses or networks of /1 or narrower (10.0.0.0/8)',
    ),
    hasFastPath: read('FAST_PATH', true, toSwitch, 'on or off'),
    logLevel: read(
      'LOG_LEVEL',
      'info',
      (text) => LOG_LEVELS.find((level) => level === text),
      `one of ${LOG_LEVELS.join(', ')}`,
    ),
  }
  if (config.natsUrl !== undefined && config.databaseUrl === undefined) {
    faults.push({
      field: 'DATABASE_URL',
      problem: 'must be set when NATS_URL is set, because the tables are in PostgreSQL',
    })
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return Object.freeze(config)
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
