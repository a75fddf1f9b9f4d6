// The command line as operators use it, on every store, with and without `--json`. What a process prints and its exit status are checked
// in processes of their own; the rest is called here.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { v7 as newId } from 'uuid'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { COMMANDS } from '../../src/commands/commands.ts'
import { readConfig } from '../../src/app/config.ts'
import { cellKey, CellSum, NO_DAY, seriesKey } from '../../src/core/statistics/cells.ts'
import { LIMIT_DEFAULTS } from '../../src/core/workspace.ts'
import { addCampaign } from '../../src/store/campaigns/campaigns.ts'
import { parkEntries, type ParkedEntry } from '../../src/store/entries/parked-entries.ts'
import { addCells } from '../../src/store/statistics/statistics.ts'
import { saveUsers } from '../../src/store/users/users.ts'
import { callCommand, usageErrorOf } from '../support/calls/call-command.ts'
import { basic, BIN, environmentOf, failureOf, run, runJson, startServing } from '../support/program.ts'
import type { Environment, FirstWorkspace } from '../support/program.ts'
import { describeEachStore, makeLocation, openTestDatabase, type TestLocation } from '../support/stores.ts'

// Every command is a process of its own, and a busy machine starts them slowly.
vi.setConfig({ testTimeout: 60_000 })

interface Version {
  readonly version: string
}

const PII_KEY = Buffer.alloc(32, 7).toString('base64')

describe('the command line', () => {
  it.each(['--help', '-h', 'help'])('lists every command for %s', async (argument) => {
    const { status, stdout } = await run([argument])
    expect(status).toBe(0)
    for (const { name, summary } of COMMANDS) {
      expect(stdout).toContain(name)
      expect(stdout).toContain(summary)
    }
  })

  it('does not fail when nobody reads its output', async () => {
    const command = '"$0" help | true; echo "${PIPESTATUS[0]}"'
    expect(await promisify(execFile)('bash', ['-c', command, BIN])).toEqual({ stdout: '0\n', stderr: '' })
  })

  it('prints help for a command or a family of commands, even with wrong settings', async () => {
    const wrong = { PORT: 'none' }
    const [one, family] = await Promise.all([
      run(['workspace', 'set', '--help'], wrong),
      run(['workspace', '--help'], wrong),
    ])
    expect(one).toMatchObject({ status: 0, stdout: expect.stringContaining('workspace set ID KEY=VALUE…') as string })
    expect(family).toMatchObject({ status: 0, stdout: expect.stringContaining('workspace show ID') as string })
  })

  it('names every setting in the help for serve', async () => {
    const settings = new Set<string>()
    readConfig(new Proxy({}, { get: (_target, name) => void settings.add(String(name)) }))
    const { stdout } = await run(['serve', '--help'])
    expect([...settings].filter((name) => !stdout.includes(name))).toEqual([])
    expect(settings).toContain('NATS_URL')
  })

  const misuses: [what: string, args: string[], message: string][] = [
    ['no command', [], 'No command given.'],
    ['an unknown command', ['wrkspace'], 'Unknown command "wrkspace"'],
    ['half a command', ['workspace', 'drop'], 'workspace create, workspace list'],
    [
      'an unknown command of a family',
      ['workspace', 'foo'],
      'Unknown command "workspace foo"; choose one of: workspace ',
    ],
    ['an unknown option', ['workspace', 'create', 'shop', '--zone', 'UTC'], 'Unknown option --zone. '],
    ['an operand that begins with a dash', ['parked', 'show', '-1'], 'Unknown option -1. '],
    ['an option without its value', ['workspace', 'create', 'shop', '--name'], '--name needs a value. '],
    ['an option with a value like an option', ['parked', 'list', '--after', '-1'], '--after needs a value. '],
    [
      'an option given twice',
      ['workspace', 'create', 'shop', '--name', 'a', '--name', 'b'],
      '--name can be given only once',
    ],
    ['a missing operand', ['workspace', 'set', 'main'], 'Missing KEY=VALUE…'],
    ['one operand too many', ['workspace', 'show', 'main', 'other'], 'Unexpected argument "other"'],
    ['a mistyped command', ['wrkspace'], 'Unknown command "wrkspace". Did you mean workspace?'],
    ['a mistyped command of a family', ['workspace', 'lst'], '"workspace lst". Did you mean workspace list?'],
    ['a command with a dash', ['workspace-list'], 'Did you mean workspace list?'],
    ['a mistyped option', ['workspace', 'create', 'shop', '--nme', 'x'], 'Unknown option --nme. Did you mean --name?'],
    ['a mistyped option of every command', ['workspace', 'list', '--jsn'], 'Did you mean --json?'],
    ['a mistyped option before the command', ['--jsn', 'workspace', 'list'], 'Did you mean --json?'],
    ['an option before its command', ['--role', 'http', 'serve'], '--role must stand after the command.'],
    ['a value of an option that takes none', ['key', 'generate', 'a', 'data', '--yes=no'], '--yes takes no value.'],
    ['a command without its required option', ['move'], 'Missing --to.'],
  ]
  it.each(misuses)('refuses %s', (_what, args, message) => {
    expect(usageErrorOf(args)).toContain(message)
  })

  it('refuses a wrong command line with exit status 2 before it checks the settings', async () => {
    const ended = await run(['workspace', 'show', 'main', 'other'], { PORT: 'none' })
    const lines = [
      'tidings: Unexpected argument "other".',
      'Usage: tidings workspace show ID',
      'See tidings --help.',
      '',
    ]
    expect(ended).toEqual({ status: 2, stdout: '', stderr: lines.join('\n') })
  })

  it('refuses an unknown role with exit status 2', async () => {
    const { status, stdout, stderr } = await run(['serve', '--role', 'email'])
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain('Unknown role "email"')
  })

  it('names everything that is wrong with a command line at once', () => {
    const message = usageErrorOf(['workspace', 'create', '--nme', 'x', '--name', 'a', '--name', 'b', '--timezone'])
    expect(message?.split('\n').slice(0, 3)).toEqual([
      '--timezone needs a value. Write one that begins with a dash as --timezone=VALUE.',
      'Unknown option --nme. Did you mean --name?',
      '--name can be given only once.',
    ])
  })

  it.each(COMMANDS.map(({ name, operands }) => [name, operands] as const))(
    'refuses an unknown option and an unexpected argument of %s in plain words',
    (name, operands) => {
      const unknown = usageErrorOf([...name.split(' '), '--colour'])
      expect(unknown).toMatch(/^Unknown option --colour\..*\n(?:.*\n)*Usage: tidings /)
      if (operands.at(-1)?.endsWith('…')) return
      expect(usageErrorOf([...name.split(' '), ...operands, 'extra'])).toContain('Unexpected argument "extra".')
    },
  )

  it.each(['-v', '--version'])('prints its version for %s', async (argument) => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Version
    expect(await run([argument])).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' })
    expect((await runJson([argument], {})).body).toEqual({ version })
  })

  it('warns of a variable whose name is almost that of a setting', async () => {
    const { stderr } = await run(['workspace', 'list'], { DATABSE_URL: 'x', DATA_DIR: '/nowhere' })
    expect(stderr).toContain(
      'tidings: The environment has DATABSE_URL, which is no setting. Did you mean DATABASE_URL?\n',
    )
  })

  it('prints an error as one object on standard output with --json', async () => {
    const ended = await runJson(['wrkspace'], {})
    expect(ended.stderr).toBe('')
    expect(failureOf(ended)).toMatchObject({ status: 2, code: 'invalid_request', fields: [] })
  })

  it('reports all wrong settings of the environment at once, each with its valid values', async () => {
    const wrong = { PORT: '99999', PII_KEY: 'short', DATABASE_URL: 'mysql://x' }
    const [text, json] = await Promise.all([run(['workspace', 'list'], wrong), runJson(['serve'], wrong)])
    expect({ status: text.status, stdout: text.stdout }).toEqual({ status: 1, stdout: '' })
    for (const name of Object.keys(wrong)) expect(text.stderr).toMatch(new RegExp(`^  ${name} must be `, 'm'))
    expect(failureOf(json)).toMatchObject({ status: 1, code: 'invalid_request' })
    expect(failureOf(json)?.fields.toSorted()).toEqual(Object.keys(wrong).toSorted())
  })

  it('reports settings that only the machine can refuse together with invalid ones', async () => {
    const wrong = { HOST: 'nowhere.invalid', DATA_DIR: '/proc/x', PORT: 'abc' }
    const { status, stderr } = await run(['serve'], wrong)
    expect(status).toBe(1)
    expect(stderr.split('\n')).toEqual([
      'tidings: The environment has 3 invalid settings.',
      '  PORT must be a port number from 0 to 65535, not "abc"',
      expect.stringMatching(/^  HOST nowhere\.invalid (?:is an unknown host|cannot be resolved)$/),
      '  DATA_DIR must be a writable folder, and /proc/x is not: no folder can be made there',
      '',
    ])
  })

  it.each([
    ['HOST and PORT of a pipeline, which listens nowhere', ['--role', 'pipeline'], { HOST: 'nowhere.invalid' }],
    ['DATA_DIR if DATABASE_URL is set', ['--role', 'pipeline'], { DATABASE_URL: 'x', DATA_DIR: '/proc/x' }],
  ])('does not check %s', async (_what, args, environment) => {
    const ended = await runJson(['serve', ...args], { ...environment, LOG_LEVEL: 'loud' })
    const invalid = 'DATABASE_URL' in environment ? ['DATABASE_URL'] : []
    expect(failureOf(ended)?.fields).toEqual([...invalid, 'LOG_LEVEL'])
  })

  it('reports a wrong address and a wrong folder at once', async () => {
    // An address reserved for documentation, which no machine has.
    const wrong = { HOST: '192.0.2.1', DATA_DIR: '/dev/null/data' }
    const ended = await runJson(['serve'], wrong)
    expect(failureOf(ended)).toMatchObject({ status: 1, code: 'invalid_request', fields: ['HOST', 'DATA_DIR'] })
  })

  it.each([
    ['below a file', ['workspace', 'list'], '/dev/null/data'],
    ['that is a file', ['workspace', 'create', 'main'], '/dev/null'],
    ['where no folder can be made', ['serve'], '/proc/tidings'],
    ['below a folder that cannot be made', ['serve'], '/proc/tidings/data'],
  ])('refuses a data directory %s', async (_what, args, dataDir) => {
    const { status, stderr } = await run(args, { DATA_DIR: dataDir })
    expect(status).toBe(1)
    expect(stderr).toContain('DATA_DIR must be a writable folder')
  })
})

describeEachStore('the command line with a store', (kind) => {
  let location: TestLocation
  let environment: Environment
  const command = (...args: string[]) => callCommand(args, environment)
  const refusal = async (...args: string[]) => failureOf(await command(...args))

  beforeAll(async () => {
    location = await makeLocation(kind)
    environment = environmentOf(location)
  })
  afterAll(() => location.remove())

  it('creates a workspace before the first start, and prints its keys', async () => {
    const created = await runJson(['workspace', 'create', 'main', '--name', 'The Shop'], environment)
    const { status, body, stderr } = created
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(body).toEqual({
      workspace_id: 'main',
      data_key: expect.stringMatching(/^td_data_/) as string,
      reports_key: expect.stringMatching(/^td_reports_/) as string,
    })
  })

  it('shows the settings of a workspace, but never its keys', async () => {
    const shown = await command('workspace', 'show', 'main')
    expect(shown.body).toEqual({
      workspace_id: 'main',
      name: 'The Shop',
      timezone: 'UTC',
      suspended: false,
      email_protection: 'none',
      identity_resolution: [],
      project_codes: [],
      categories: [],
      joined_customer_ids_max: 20,
      clock_skew_seconds: 300,
      retention_days: { events: null },
      global_control_percent: 0,
      global_control_seed: expect.stringMatching(/^[\w-]{43}$/) as string,
      frequency_caps: [],
      alert_sender_id: null,
      feedback: {
        sendgrid_key: 'not set',
        mailgun_key: 'not set',
        postmark_key: 'not set',
        ses_topic: 'not set',
      },
      limits: LIMIT_DEFAULTS,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    })
    const listed = await command('workspace', 'list')
    expect(listed.body).toEqual({ workspaces: [shown.body] })
  })

  it('refuses a workspace id that exists, and reports all errors in a new workspace at once', async () => {
    const existing = await runJson(['workspace', 'create', 'main'], environment)
    expect(failureOf(existing)).toMatchObject({ status: 1, code: 'conflict' })
    const wrong = await refusal('workspace', 'create', 'a b', '--timezone', 'BST', '--name', '')
    expect(wrong).toMatchObject({ status: 1, code: 'invalid_request', fields: ['ID', 'name', 'timezone'] })
    const reserved = await command('workspace', 'create', 'setup')
    expect(failureOf(reserved)).toMatchObject({ status: 1, code: 'invalid_request', fields: ['ID'] })
    expect(JSON.stringify(reserved.body)).toContain('the dashboard has pages of that name')
  })

  it('reports that a workspace does not exist', async () => {
    const { status, stdout, stderr } = await run(['workspace', 'show', 'nobody'], environment)
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toBe('tidings: The workspace "nobody" does not exist.\n')
  })

  it('changes settings, with commas between the items of a list', async () => {
    const assignments = ['name=New', 'identity_resolution=svc_mobile, card', 'limits.management_per_minute=7']
    const { status, body } = await command('workspace', 'set', 'main', ...assignments, 'timezone=Europe/Berlin')
    expect(status).toBe(0)
    expect(body).toMatchObject({
      name: 'New',
      timezone: 'Europe/Berlin',
      identity_resolution: ['svc_mobile', 'card'],
      limits: { ...LIMIT_DEFAULTS, management_per_minute: 7 },
    })
  })

  it('changes all settings or none, and reports all errors at once', async () => {
    const before = await command('workspace', 'show', 'main')
    const wrong = ['limits.nothing=1', 'suspended=perhaps', 'colour=red', 'name', 'email_protection=encrypted']
    const refused = await refusal('workspace', 'set', 'main', 'clock_skew_seconds=60', ...wrong)
    expect(refused).toMatchObject({ status: 1, code: 'invalid_request' })
    const fields = ['colour', 'email_protection', 'limits.nothing', 'name', 'suspended']
    expect(refused?.fields.toSorted()).toEqual(fields)
    expect((await command('workspace', 'show', 'main')).body).toEqual(before.body)
    const mistyped = await command('workspace', 'set', 'main', 'timezon=UTC', 'limits.track_event_per_minute=1')
    expect(mistyped.body).toMatchObject({
      error: {
        details: [
          { field: 'timezon', problem: 'is not a workspace setting; did you mean timezone?' },
          { problem: expect.stringContaining('did you mean limits.track_events_per_minute?') as string },
        ],
      },
    })
  })

  it('encrypts emails only with PII_KEY, and does not change their protection once the workspace has users', async () => {
    const encrypt = ['workspace', 'set', 'main', 'email_protection=encrypted']
    expect(await refusal(...encrypt)).toMatchObject({ status: 1, fields: ['email_protection'] })
    expect((await callCommand(encrypt, { ...environment, PII_KEY })).status).toBe(0)
    const database = await openTestDatabase(location)
    const user = { customerId: 'c1', attributes: {}, emailKey: null, createdAt: 1 }
    await database.write((store) => saveUsers(store, [{ id: 1, workspaceId: 'main', ...user }]))
    await database.close()
    const { stderr } = await run(['workspace', 'set', 'main', 'email_protection=none', 'name=x'], environment)
    expect(stderr).toContain('email_protection cannot be changed once the workspace has users')
  })

  it('changes other settings of a workspace with encrypted emails without the key', async () => {
    expect((await command('workspace', 'set', 'main', 'name=Sealed')).body).toMatchObject({ name: 'Sealed' })
  })

  it('does not change the protection of emails while the first request of a user is still in the log', async () => {
    const { body } = await command('workspace', 'create', 'logged')
    const { data_key } = body as FirstWorkspace
    const server = await startServing({ ...environment, PII_KEY }, ['--role', 'http'])
    const answer = await fetch(`${server.started.url}/v1/event/logged`, {
      method: 'POST',
      headers: { authorization: basic('logged', data_key), 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'event', customer_id: 'c1', actions: [{ action: 'Order Placed' }] }),
    })
    expect(answer.status).toBe(200)
    const refused = await refusal('workspace', 'set', 'logged', 'email_protection=tokenized')
    expect(refused).toMatchObject({ status: 1, fields: ['email_protection'] })
    await command('workspace', 'create', 'silent')
    expect((await command('workspace', 'set', 'silent', 'email_protection=tokenized')).status).toBe(0)
    await server.stop()
  })

  it('does not change the protection of emails until parked entries are replayed or dropped', async () => {
    await command('workspace', 'create', 'parked')
    const database = await openTestDatabase(location)
    await database.write((store) => parkEntries(store, [{ ...toParked(7, '{}'), workspaceId: 'parked' }]))
    await database.close()
    const tokenize = (id: string) => command('workspace', 'set', id, 'email_protection=tokenized')
    const { status, body } = await tokenize('parked')
    const problem = 'cannot be changed while entries are parked: replay or drop them first'
    const details = [{ field: 'email_protection', problem: expect.stringContaining(problem) as string }]
    expect({ status, body }).toMatchObject({ status: 1, body: { error: { details } } })
    await command('workspace', 'create', 'unparked')
    expect((await tokenize('unparked')).status).toBe(0)
    expect((await command('parked', 'drop', '7', '--yes')).status).toBe(0)
    expect((await tokenize('parked')).status).toBe(0)
  })

  it('does not change the time zone once the workspace has statistics', async () => {
    const database = await openTestDatabase(location)
    await database.write(async (store) => {
      const campaign = {
        workspaceId: 'main',
        id: newId(),
        name: 'Spring',
        platforms: ['WEB'],
        goals: [],
        createdBy: 'me',
      }
      const { number } = await addCampaign(store, { ...campaign, createdAt: 1 })
      const everywhere = { platform: '', locale: '', variation: '' }
      const series = { campaign: number, generation: 0, group: '', metric: 'sent', ...everywhere } as const
      const sum = new CellSum()
      sum.add(cellKey(seriesKey(series), 1, NO_DAY), 1, 1)
      await addCells(store, sum)
    })
    await database.close()
    const refused = await refusal('workspace', 'set', 'main', 'timezone=UTC')
    expect(refused).toMatchObject({ status: 1, fields: ['timezone'] })
    expect((await command('workspace', 'set', 'main', 'timezone=Europe/Berlin')).status).toBe(0)
  })

  it('adds, lists and removes categories', async () => {
    expect((await command('category', 'add', 'main', 'Offers')).body).toEqual({
      workspace_id: 'main',
      categories: ['Offers'],
    })
    expect((await command('category', 'add', 'main', 'Offers')).body).toMatchObject({ categories: ['Offers'] })
    expect((await command('category', 'add', 'main', 'News')).body).toMatchObject({ categories: ['Offers', 'News'] })
    const listed = { workspace_id: 'main', categories: ['Offers', 'News'] }
    expect((await command('category', 'list', 'main')).body).toEqual(listed)
    expect((await command('category', 'list', 'main')).text).toBe('Offers\nNews\n')
    expect(await refusal('category', 'list', 'nobody')).toMatchObject({ status: 1, code: 'not_found' })
    expect((await command('category', 'remove', 'main', 'Offers')).body).toMatchObject({ categories: ['News'] })
    expect(await refusal('category', 'remove', 'main', 'Offers')).toMatchObject({ status: 1, code: 'not_found' })
    for (const name of [' x', 'x ', '__proto__'])
      expect(await refusal('category', 'add', 'main', name)).toMatchObject({ status: 1, code: 'invalid_request' })
  })

  it('generates a key for one tile', async () => {
    const { body } = await command('key', 'generate', 'main', 'reports', '--yes')
    expect(body).toEqual({
      workspace_id: 'main',
      tile: 'reports',
      key: expect.stringMatching(/^td_reports_/) as string,
      previous_valid_until: null,
    })
    expect(await refusal('key', 'generate', 'main', 'sales')).toMatchObject({ status: 1, code: 'invalid_request' })
    expect(await refusal('key', 'generate', 'nobody', 'data', '--yes')).toMatchObject({ status: 1, code: 'not_found' })
  })

  it('lists parked entries in pages, and shows one in full', async () => {
    const entries = Array.from({ length: 101 }, (_, index) => toParked(index + 1, '{broken'))
    const database = await openTestDatabase(location)
    await database.write((store) => parkEntries(store, entries))
    await database.close()
    const parked = entries.map(
      ({ position }) => expect.objectContaining({ position, error: 'it is broken' }) as unknown,
    )
    expect((await command('parked', 'list')).body).toEqual({ parked: parked.slice(0, 100), next_after: 100 })
    expect((await command('parked', 'list', '--after', '100')).body).toEqual({
      parked: parked.slice(100),
      next_after: null,
    })
    expect((await command('parked', 'list', '--after', '1')).body).toMatchObject({ next_after: null })
    const lines = (await run(['parked', 'list'], environment)).stdout.split('\n')
    expect(lines[0]).toBe('1  main  track_events  1970-01-01T00:00:02.000Z  it is broken')
    expect(lines.slice(100)).toEqual(['More: tidings parked list --after 100', ''])
    expect((await command('parked', 'show', '7')).body).toEqual({
      position: 7,
      workspace_id: 'main',
      kind: 'track_events',
      request_id: 'request-7',
      received_at: '1970-01-01T00:00:01.000Z',
      parked_at: '1970-01-01T00:00:02.000Z',
      error: 'it is broken',
      context: { ip: '192.0.2.1' },
      body: '{broken',
    })
    expect(await refusal('parked', 'show', '500')).toMatchObject({ status: 1, code: 'not_found' })
    expect(await refusal('parked', 'show', 'seven')).toMatchObject({ status: 1, code: 'invalid_request' })
  })

  it('replays a parked entry once it can be applied, and drops one for good', async () => {
    const body = JSON.stringify({ type: 'event', customer_id: 'c2', actions: [{ action: 'Order Placed' }] })
    const database = await openTestDatabase(location)
    const entries = [{ ...toParked(200, body), workspaceId: 'later' }, toParked(201, '{broken')]
    await database.write((store) => parkEntries(store, entries))
    await database.close()
    expect(await refusal('parked', 'replay', '200')).toMatchObject({ status: 1, code: 'conflict' })
    await command('workspace', 'create', 'later')
    expect((await command('parked', 'replay', '200')).body).toEqual({ position: 200, outcome: 'applied' })
    expect(await refusal('parked', 'replay', '200')).toMatchObject({ status: 1, code: 'not_found' })
    expect((await command('parked', 'drop', '201', '--yes')).body).toEqual({ position: 201, outcome: 'dropped' })
    expect((await command('parked', 'drop', '101', '--yes')).text).toBe('The entry at 101 was dropped.\n')
    expect(await refusal('parked', 'drop', '201', '--yes')).toMatchObject({ status: 1, code: 'not_found' })
  })
})

function toParked(position: number, body: string): ParkedEntry {
  return {
    position,
    workspaceId: 'main',
    kind: 'track_events',
    requestId: `request-${position}`,
    receivedAt: 1_000,
    context: '{"ip":"192.0.2.1"}',
    body,
    error: 'it is broken',
    parkedAt: 2_000,
  }
}
