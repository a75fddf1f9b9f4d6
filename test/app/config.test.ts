// Checks how settings are read from the environment: defaults, accepted values, and errors that name all wrong settings at once.
import { fastify } from 'fastify'
import { describe, expect, it } from 'vitest'
import { ConfigError, readConfig, readEnvironment, type Config } from '../../src/app/config.ts'

const KEY = Buffer.alloc(32, 0xfb)

/** The error about wrong settings; undefined if all are valid. */
function refusalOf(environment: Record<string, string>): ConfigError | undefined {
  try {
    readConfig(environment)
    return undefined
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error
  }
}

/** The variables that the error names. */
function wrongIn(environment: Record<string, string>): string[] {
  return refusalOf(environment)?.faults.map(({ field }) => field) ?? []
}

describe('the environment', () => {
  it('may be empty', () => {
    expect(readConfig({})).toEqual({
      host: '127.0.0.1',
      port: 8080,
      dataDir: './data',
      databaseUrl: undefined,
      piiKey: undefined,
      secretKey: undefined,
      delivery: { publicUrl: undefined, allowPlainSmtp: false, attachmentHosts: [], machineNetworks: [] },
      trustedProxies: [],
      requiresHttps: false,
      hasFastPath: true,
      logLevel: 'info',
    })
  })

  it('is read into settings that cannot be changed', () => {
    expect(Object.isFrozen(readConfig({}))).toBe(true)
  })

  const accepted: [name: string, text: string, setting: keyof Config, value: unknown][] = [
    ['HOST', '0.0.0.0', 'host', '0.0.0.0'],
    ['HOST', '::1', 'host', '::1'],
    ['HOST', 'tidings.internal', 'host', 'tidings.internal'],
    ['PORT', '0', 'port', 0],
    ['PORT', ' 65535 ', 'port', 65_535],
    ['PORT', '', 'port', 8080],
    ['DATA_DIR', '/var/lib/tidings', 'dataDir', '/var/lib/tidings'],
    ['DATABASE_URL', 'postgres://me@db:5432/tidings', 'databaseUrl', 'postgres://me@db:5432/tidings'],
    ['DATABASE_URL', 'postgresql:///tidings', 'databaseUrl', 'postgresql:///tidings'],
    ['DATABASE_URL', 'postgres://me:%25%20@db/t%C3%A4', 'databaseUrl', 'postgres://me:%25%20@db/t%C3%A4'],
    ['DATABASE_URL', 'postgres:///t?host=/run&port=5433', 'databaseUrl', 'postgres:///t?host=/run&port=5433'],
    ['PII_KEY', KEY.toString('base64'), 'piiKey', KEY],
    ['PII_KEY', KEY.toString('base64url'), 'piiKey', KEY],
    ['SECRET_KEY', KEY.toString('base64'), 'secretKey', KEY],
    ['TRUSTED_PROXIES', '10.0.0.0/8, ::1', 'trustedProxies', ['10.0.0.0/8', '::1']],
    ['TRUSTED_PROXIES', '128.0.0.0/1,fe80::1%eth0/64', 'trustedProxies', ['128.0.0.0/1', 'fe80::1%eth0/64']],
    ['FAST_PATH', 'on', 'hasFastPath', true],
    ['FAST_PATH', 'off', 'hasFastPath', false],
    ['LOG_LEVEL', 'silent', 'logLevel', 'silent'],
  ]
  it.each(accepted)('may contain %s=%s', (name, text, setting, value) => {
    expect(readConfig({ [name]: text })[setting]).toEqual(value)
  })

  const delivery: [name: string, text: string, setting: keyof Config['delivery'], value: unknown][] = [
    ['PUBLIC_URL', 'https://Mail.example.com/t/', 'publicUrl', 'https://mail.example.com/t'],
    ['PUBLIC_URL', 'http://127.0.0.1:8080', 'publicUrl', 'http://127.0.0.1:8080'],
    ['ALLOW_PLAIN_SMTP', '1', 'allowPlainSmtp', true],
    ['ALLOW_PLAIN_SMTP', '0', 'allowPlainSmtp', false],
    ['ATTACHMENT_HOSTS', 'Files.internal, 10.0.0.1,::1', 'attachmentHosts', ['files.internal', '10.0.0.1', '::1']],
    [
      'MACHINE_NETWORKS',
      '198.51.100.0/24=clicks, 2001:db8::/32=opens+clicks,203.0.113.7=opens',
      'machineNetworks',
      [
        { address: '198.51.100.0', prefix: 24, family: 'ipv4', opens: false, clicks: true },
        { address: '2001:db8::', prefix: 32, family: 'ipv6', opens: true, clicks: true },
        { address: '203.0.113.7', prefix: 32, family: 'ipv4', opens: true, clicks: false },
      ],
    ],
  ]
  it.each(delivery)('may contain %s=%s', (name, text, setting, value) => {
    expect(readConfig({ [name]: text }).delivery[setting]).toEqual(value)
  })

  const refused: [name: string, text: string][] = [
    ['HOST', 'not a host'],
    ['HOST', 'http://127.0.0.1'],
    ['HOST', '999.1.1.1'],
    ['HOST', '127.1'],
    ['HOST', 'tidings..internal'],
    ['HOST', 'tidings-'],
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['PORT', '80.5'],
    ['PORT', 'http'],
    ['DATABASE_URL', 'mysql://me@db/tidings'],
    ['DATABASE_URL', 'tidings'],
    ['DATABASE_URL', 'postgres://me@db:5432'],
    ['DATABASE_URL', 'postgres://me@db/'],
    ['DATABASE_URL', 'postgres://me@db/tidings?port=banana'],
    ['DATABASE_URL', 'postgres://me@db/tidings?port=65536'],
    ['DATABASE_URL', 'postgres://me:%E0%A4@db/tidings'],
    ['DATABASE_URL', 'postgres://me@db/%E0%A4%A'],
    ['NATS_URL', 'http://host:4222'],
    ['NATS_URL', 'nats://me:secret@host:4222,nats://me:%E0%A4@host:4222'],
    ['PII_KEY', KEY.subarray(1).toString('base64')],
    ['PII_KEY', '!'.repeat(44)],
    ['SECRET_KEY', KEY.subarray(1).toString('base64')],
    ['PUBLIC_URL', 'mail.example.com'],
    ['PUBLIC_URL', 'https://mail.example.com/?a=1'],
    ['PUBLIC_URL', 'https://mail.example.com/#a'],
    ['PUBLIC_URL', 'https://me:secret@mail.example.com'],
    ['ALLOW_PLAIN_SMTP', 'yes'],
    ['ATTACHMENT_HOSTS', 'files.internal:8080'],
    ['ATTACHMENT_HOSTS', 'a,,b'],
    ['MACHINE_NETWORKS', '198.51.100.0/24'],
    ['MACHINE_NETWORKS', '198.51.100.0/33=clicks'],
    ['MACHINE_NETWORKS', '0.0.0.0/0=clicks'],
    ['MACHINE_NETWORKS', '198.51.100.0/24=both'],
    ['TRUSTED_PROXIES', 'proxy.internal'],
    ['TRUSTED_PROXIES', '10.0.0.0/33'],
    ['TRUSTED_PROXIES', '0.0.0.0/0'],
    ['TRUSTED_PROXIES', '::/0'],
    ['TRUSTED_PROXIES', '10.0.0.0/8/9'],
    ['TRUSTED_PROXIES', '10.0.0.0/'],
    ['TRUSTED_PROXIES', 'fe80::1%eth0.100'],
    ['FAST_PATH', 'false'],
    ['LOG_LEVEL', 'loud'],
  ]
  it.each(refused)('may not contain %s=%s', (name, text) => {
    const needed: Record<string, string> = name === 'NATS_URL' ? { DATABASE_URL: 'postgres://me@db/tidings' } : {}
    expect(wrongIn({ ...needed, [name]: text })).toEqual([name])
  })

  const networks = [
    '10.0.0.1',
    '0.0.0.0',
    '::',
    '::1',
    'fe80::1%eth0',
    'fe80::1%eth0.100',
    '::1.2.3.4',
    '::ffff:1.2.3.4',
  ]
  const prefixes = ['', '/', '/0', '/00', '/1', '/08', '/32', '/33', '/128', '/129', '/8/9', '/-1', '/1.5', '/a']
  it.each(networks)('may contain only networks of %s with which the server can start', (address) => {
    const valid = prefixes
      .map((prefix) => address + prefix)
      .filter((text) => !wrongIn({ TRUSTED_PROXIES: text }).length)
    for (const text of valid) expect(() => fastify({ trustProxy: [text] })).not.toThrow()
  })

  it('must contain DATABASE_URL if it contains NATS_URL', () => {
    expect(wrongIn({ NATS_URL: 'nats://a:4222' })).toEqual(['DATABASE_URL'])
    expect(wrongIn({ NATS_URL: 'http://a' })).toEqual(['NATS_URL', 'DATABASE_URL'])
    expect(wrongIn({ NATS_URL: 'nats://a:4222', DATABASE_URL: 'tidings' })).toEqual(['DATABASE_URL'])
  })

  it.each(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])('may contain the log level %s', (level) => {
    expect(readConfig({ LOG_LEVEL: level }).logLevel).toBe(level)
  })

  it('is refused with all wrong settings at once, each with its valid values', () => {
    const wrong = Object.fromEntries(refused)
    expect(wrongIn(wrong)).toEqual(Object.keys(wrong))
    for (const { problem } of refusalOf(wrong)?.faults ?? []) expect(problem).toMatch(/^must be /)
  })

  it('is refused with the values that were given', () => {
    expect(refusalOf({ PORT: ' http ' })?.faults).toEqual([
      { field: 'PORT', problem: 'must be a port number from 0 to 65535, not "http"' },
    ])
  })

  it.each([
    ['DATABSE_URL', ['DATABASE_URL']],
    ['LOGLEVEL', ['LOG_LEVEL']],
    ['PORTS', ['PORT']],
    ['HOME', []],
    ['PATH', []],
    ['HOSTNAME', []],
    ['DATABASE_URL', []],
  ])('warns of names that are almost those of settings: %s', (name, meant) => {
    const { warnings } = readEnvironment({ [name]: 'postgres://me@db/tidings' })
    const sentences = meant.map((known) => `The environment has ${name}, which is no setting. Did you mean ${known}?`)
    expect(warnings).toEqual(sentences)
  })

  it('does not warn of such a name if the setting is set as well', () => {
    expect(readEnvironment({ PORTS: '1', PORT: '1' }).warnings).toEqual([])
  })

  it('is refused without printing a wrong secret', () => {
    const secret = 'hunter2hunter2'
    const refusal = refusalOf({ PII_KEY: secret, DATABASE_URL: `mysql://me:${secret}@db` })
    expect(refusal?.faults.length).toBe(2)
    expect(`${refusal?.message} ${JSON.stringify(refusal?.faults)}`).not.toContain(secret)
  })
})
