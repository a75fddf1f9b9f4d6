// Import people and Get import through real HTTP, on every store: what a row does, what is refused, and how an import goes on.
import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { REFUSALS_KEPT_MAX, SENT_ON_WITHIN_MS } from '../../../src/actions/imports/import-rows.ts'
import { ROW_BYTES_MAX } from '../../../src/actions/imports/read-rows.ts'
import { IMPORT_SLOTS } from '../../../src/operations/slots.ts'
import { IMPORT_ABANDONED_MS } from '../../../src/store/users/imports.ts'
import { csvLines, importCallsOf, type ImportCalls } from '../../support/calls/import-calls.ts'
import { preferenceCalls } from '../../support/calls/preference-calls.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import { expectRefusal, LIMITS_OF_TESTS, startServer, until, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const HEADER = 'customer_id,plan\n'

describeEachStore('Import people (import_people, get_import)', (kind) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer(kind, { PII_KEY: randomBytes(32).toString('base64') })
  })
  afterAll(() => server.stop())

  /** A workspace of its own for each test. */
  const make = async (settings: Parameters<TestServer['makeWorkspace']>[0] = {}) => {
    const workspace = await server.makeWorkspace({ limits: LIMITS_OF_TESTS, ...settings })
    const tracking = trackingOf(server, workspace)
    return {
      workspace,
      tracking,
      imports: importCallsOf(server, workspace),
      preferences: preferenceCalls(server, workspace),
      attributesOf: async (customer_id: string) => (await tracking.getUser({ customer_id })).body.attributes,
    }
  }

  it('creates and updates the user of each row of CSV', async () => {
    const { imports, tracking } = await make({ identityResolution: ['crm'] })
    await tracking.apply({ type: 'customer', customer_id: 'a', attributes: { plan: 'free', city: 'Bonn' } })
    const file =
      '\ufeffcustomer_id,crm,email,plan,age\r\na,,Anna@example.com,"premium, ""gold""",\r\n\r\n,c-2,,free,42\r\n'
    expect(await imports.apply(file)).toMatchObject({ rows: 2, accepted: 2, refused: 0, refusals: [], applied: 2 })
    expect((await tracking.getUser({ customer_id: 'a' })).body).toMatchObject({
      attributes: { email: 'Anna@example.com', plan: 'premium, "gold"', city: 'Bonn' },
    })
    expect((await tracking.getUser({ email: 'anna@example.com' })).body.customer_id).toBe('a')
    const { body } = await tracking.getUser({ identifier_name: 'crm', identifier_value: 'c-2' })
    expect(body).toMatchObject({ customer_id: null, attributes: { plan: 'free', age: '42' } })
  })

  it('takes attributes of any JSON type from NDJSON, and null clears one', async () => {
    const { imports, attributesOf, tracking } = await make({ identityResolution: ['crm'] })
    await tracking.apply({ type: 'customer', customer_id: 'a', attributes: { plan: 'free' } })
    const rows = [
      { customer_id: 'a', user_identifiers: { crm: 7 }, attributes: { age: 42, tags: ['x'], plan: null, mobile: 49 } },
      { customer_id: 'b', attributes: null, opt_in_status: null, categories: null, created_at: '2026-01-01T00:00:00Z' },
    ]
    await imports.apply(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
    expect(await attributesOf('a')).toEqual({ age: 42, tags: ['x'], plan: null, mobile: '49' })
    expect(await attributesOf('b')).toEqual({})
    expect((await tracking.getUser({ identifier_name: 'crm', identifier_value: '7' })).body.customer_id).toBe('a')
  })

  it('lets the last of several rows of one user decide', async () => {
    const { imports, attributesOf } = await make()
    await imports.apply(`${HEADER}a,first\na,second\na,third\n`)
    expect(await attributesOf('a')).toEqual({ plan: 'third' })
  })

  it('sets status and categories, each change with a proof that names the import', async () => {
    const { imports, preferences } = await make({ categories: ['News', 'Offers'] })
    const file = 'customer_id,opt_in_status,categories.News,categories.Offers\na,opted_in,TRUE,\nb,,false,false\nc,,,\n'
    const { import_id: id } = await imports.apply(file)
    expect(await preferences.readOne('a')).toMatchObject({ opt_in_status: 'OPTED_IN', categories: { News: true } })
    expect(await preferences.readOne('b')).toMatchObject({ opt_in_status: 'OPTED_OUT' })
    expect(await preferences.readOne('c')).toMatchObject({ opt_in_status: 'OPT_IN_PENDING', updated_at: null })
    expect(await preferences.proofsOf('a')).toMatchObject([
      { by: `import:${id}`, ip: '127.0.0.1', after: { opt_in_status: 'OPTED_IN', categories: { News: true } } },
    ])
    // The same again changes nothing, and needs no proof.
    await imports.apply(file)
    expect(await preferences.proofsOf('a')).toHaveLength(1)
  })

  it('opts nobody in who opted out, and counts the rows', async () => {
    const { imports, preferences, attributesOf } = await make({ categories: ['News', 'Offers'] })
    await preferences.makeUsers(['out', 'left'])
    await preferences.set({ customer_id: 'out', opt_in_status: 'OPTED_OUT' })
    await preferences.set({ customer_id: 'left', categories: { News: false, Offers: true } })
    const header = 'customer_id,plan,opt_in_status,categories.News'
    const file = `${header}\nout,x,DOUBLE_OPTED_IN,true\nleft,x,,true\nnew,x,OPTED_OUT,\nnew,x,OPTED_IN,\n`
    expect(await imports.apply(file)).toMatchObject({ accepted: 4, applied: 4, kept_opted_out: 3 })
    expect(await preferences.readOne('out')).toMatchObject({ opt_in_status: 'OPTED_OUT', categories: {} })
    expect(await preferences.readOne('left')).toMatchObject({ categories: { News: false, Offers: true } })
    expect(await preferences.readOne('new')).toMatchObject({ opt_in_status: 'OPTED_OUT' })
    expect(await attributesOf('out')).toEqual({ plan: 'x' })
  })

  it('refuses single rows, by their line, and accepts the rest', async () => {
    const { imports, attributesOf } = await make({ categories: ['News'] })
    const lines = [
      'customer_id,email,opt_in_status,categories.News',
      'ok,,,',
      ',nobody@example.com,,',
      'undefined,,,',
      'a,no address,,',
      'b,,MAYBE,',
      'c,,,perhaps',
      'd,,',
      'x\u200by,,,',
      '"multi\nline",,,',
      'ok-2,,,',
    ]
    const { body } = await imports.send(lines.join('\n'))
    expect(body).toMatchObject({ rows: 10, accepted: 2, refused: 8 })
    expect(body.refusals.map(({ line, problem }) => `${line} ${problem.slice(0, 30)}`)).toEqual([
      '3 customer_id is required',
      '4 customer_id is a placeholder (',
      '5 attributes.email must be an em',
      '6 opt_in_status must be one of O',
      '7 categories.News must be true o',
      '8 must have 4 cells, as the head',
      '9 customer_id must not contain c',
      '11 customer_id must not contain c',
    ])
    await imports.applied(body.import_id)
    expect(await attributesOf('ok-2')).toEqual({})
  })

  it('refuses rows of NDJSON that Track User would refuse, and rows that are no objects', async () => {
    const { imports } = await make({ identityResolution: ['crm'], categories: ['News'] })
    const many = Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`a${index}`, 1]))
    const lines: [line: string, problem: string][] = [
      ['{"customer_id":"a"', 'must be one JSON object'],
      ['["a"]', 'must be a JSON object'],
      ['{"customer_id":"a","customer_id":"b"}', 'must not give a name twice'],
      ['{"customer_id":"a","attributes":{"__proto__":{}}}', 'must not have the names'],
      ['{"customer_id":7}', 'customer_id must be a string'],
      ['{"customer_id":"a","email":"a@b.example"}', 'email is not a member of a row'],
      ['{"customer_id":"a","user_identifiers":{"other":"x"}}', 'user_identifiers.other is not an identifier'],
      ['{"customer_id":"a","user_identifiers":{"crm":"null"}}', 'user_identifiers.crm is a placeholder'],
      ['{"customer_id":"a","attributes":{"svc_x":1}}', 'attributes.svc_x must not start with'],
      [JSON.stringify({ customer_id: 'a', attributes: many }), 'attributes must have at most 500'],
      ['{"customer_id":"a","attributes":[]}', 'attributes must be an object'],
      ['{"customer_id":"a","attributes":{"email":7}}', 'attributes.email must be a string or null'],
      ['{"customer_id":"a","attributes":{"mobile":1.5}}', 'attributes.mobile must be a string or a whole number'],
      ['{"customer_id":"a","attributes":{"timezone":"Mars"}}', 'attributes.timezone must be an IANA time zone'],
      ['{"customer_id":"a","categories":{"Gone":true}}', 'categories.Gone is not an active category'],
      ['{"customer_id":"a","categories":{"News":"true"}}', 'categories.News must be true or false'],
      [
        JSON.stringify({ customer_id: 'a', attributes: { text: 'x'.repeat(ROW_BYTES_MAX) } }),
        'must have at most 262,144',
      ],
    ]
    const { body } = await imports.send(lines.map(([line]) => line).join('\n'))
    expect(body).toMatchObject({ rows: lines.length, accepted: 0, status: 'complete' })
    for (const [index, [, problem]] of lines.entries()) {
      expect(body.refusals[index]).toMatchObject({
        line: index + 1,
        problem: expect.stringContaining(problem) as string,
      })
    }
  })

  it('refuses identifiers if identity resolution is off, instead of losing them', async () => {
    const { imports } = await make()
    const { body } = await imports.send('{"customer_id":"a","user_identifiers":{"crm":"x"}}\n')
    expect(body.refusals).toMatchObject([
      { line: 1, problem: expect.stringContaining('identity resolution is off') as string },
    ])
  })

  it(`keeps the first ${REFUSALS_KEPT_MAX} refusals and counts all`, async () => {
    const { imports } = await make()
    const { body } = await imports.send(`${HEADER}${'null,x\n'.repeat(1_700)}`)
    expect(body).toMatchObject({ rows: 1_700, refused: 1_700, accepted: 0, status: 'complete' })
    expect(body.refusals).toHaveLength(REFUSALS_KEPT_MAX)
    expect(body.refusals.at(-1)?.line).toBe(REFUSALS_KEPT_MAX + 1)
  })

  const headers: [what: string, header: string, problem: string][] = [
    ['without an id', 'email,plan', 'must name a column customer_id or crm'],
    ['with a column twice', 'customer_id,plan,plan', 'must not be given twice'],
    ['with an unknown category', 'customer_id,categories.Gone', 'is not an active category'],
    ['with a system name', 'customer_id,svc_mobile', 'is not an identifier of this workspace'],
    ['with an empty name', 'customer_id,', 'must have a name'],
    ['with an outer space', 'customer_id, plan', 'must not begin or end with a space'],
    ['separated by semicolons', 'customer_id;plan', 'separates columns by \\";\\"'],
    ['that begins with sep=', 'sep=;', 'export the file with commas'],
  ]
  it.each(headers)('refuses a file whose header is %s: %s', async (_what, header, problem) => {
    const { imports } = await make({ identityResolution: ['crm'], categories: ['News'] })
    const answer = await imports.send(`${header}\na,b\n`)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.body)).toContain(problem)
  })

  const broken: [what: string, rows: string, problem: string][] = [
    ['an open quotation mark', 'a,"b\n', 'line 702 opens a quotation mark that is never closed'],
    ['text after a quoted cell', 'a,"b"c\n', 'line 702 has text after a closing quotation mark'],
    ['a quotation mark in a cell', 'a,5" wide\n', 'line 702 has a quotation mark in a cell without quotes'],
    [
      'a row that is too long',
      `a,"${'x'.repeat(ROW_BYTES_MAX + 1)}"\n`,
      'line 702 begins a row of more than 262,144 bytes',
    ],
  ]
  it.each(broken)('ends at %s, and says how many rows were imported before', async (_what, rows, problem) => {
    const { imports } = await make()
    const answer = await imports.send(HEADER + csvLines(0, 700) + rows)
    expect(answer.status).toBe(400)
    const { message } = (answer.body as unknown as { error: { message: string } }).error
    expect(message).toContain(problem)
    expect(message).toContain('500 of the 500 rows before it were imported')
  })

  it('refuses bytes that are not UTF-8', async () => {
    const { imports } = await make()
    expectRefusal(await imports.send(Buffer.from(`${HEADER}M\u00fcller,x\n`, 'latin1')), 400, 'invalid_request', [
      'body',
    ])
  })

  it('refuses a file without rows', async () => {
    const { imports } = await make()
    for (const file of ['', HEADER]) expectRefusal(await imports.send(file), 400, 'invalid_request', ['body'])
  })

  it('accepts gzip', async () => {
    const { imports } = await make()
    const { body } = await imports.send(gzipSync(`${HEADER}a,x\n`), { 'content-encoding': 'gzip' })
    expect(body).toMatchObject({ accepted: 1 })
  })

  it('refuses other media types', async () => {
    const { imports } = await make()
    for (const type of ['application/json', 'text/plain']) {
      expectRefusal(await imports.send('{"customer_id":"a"}', { 'content-type': type }), 415, 'unsupported_media_type')
    }
  })

  it('imports a file again with another key or none, and once with the same', async () => {
    const { imports } = await make()
    const file = HEADER + csvLines(0, 1_200)
    const first = await imports.apply(file, { 'idempotency-key': 'k' })
    expect((await imports.send(file, { 'idempotency-key': 'k' })).body).toEqual(first)
    expect((await imports.apply(file)).import_id).not.toBe(first.import_id)
    expect(await imports.applied(first.import_id)).toMatchObject({ rows: 1_200, applied: 1_200 })
  })

  const others: [what: string, file: string][] = [
    ['another beginning', `${HEADER}other,x\n${csvLines(1, 1_200)}`],
    ['another end', `${HEADER}${csvLines(0, 1_199)}other,x\n`],
    ['fewer rows', HEADER + csvLines(0, 1_100)],
    ['more rows', HEADER + csvLines(0, 1_201)],
  ]
  it.each(others)('refuses a file with the same key and %s', async (_what, other) => {
    const { imports } = await make()
    await imports.apply(HEADER + csvLines(0, 1_200), { 'idempotency-key': 'k' })
    expectRefusal(await imports.send(other, { 'idempotency-key': 'k' }), 409, 'conflict', ['header.Idempotency-Key'])
  })

  /** Sends part of a file, and breaks the connection. Returns the import, which then waits. */
  const breakOff = async (imports: ImportCalls, key: string, rows: number) => {
    const upload = imports.open(key)
    await upload.send(HEADER + csvLines(0, rows))
    const id = await until('the import has begun', async () => {
      const found = await server.database.query.selectFrom('imports').select('id').where('key', '=', key).execute()
      return found[0]?.id
    })
    upload.breakOff()
    await until('the server notices', async () => (await imports.find(id)).body.status === 'interrupted')
    return id
  }

  it('goes on after a broken connection with the same key, and applies each row once', async () => {
    const { imports, attributesOf } = await make()
    const id = await breakOff(imports, 'broken', 1_300)
    const file = HEADER + csvLines(0, 6_000)
    const { body } = await imports.send(file, { 'idempotency-key': 'broken' })
    expect(body).toMatchObject({ import_id: id, rows: 6_000, accepted: 6_000 })
    expect(await imports.applied(id)).toMatchObject({ applied: 6_000 })
    expect(await attributesOf('user-5999')).toEqual({ plan: 'plan-5999' })
  })

  it('refuses another file with the key of an interrupted import', async () => {
    const { imports } = await make()
    await breakOff(imports, 'mixed-up', 1_300)
    const other = `${HEADER}other,x\n${csvLines(1, 2_000)}`
    expectRefusal(await imports.send(other, { 'idempotency-key': 'mixed-up' }), 409, 'conflict', [
      'header.Idempotency-Key',
    ])
  })

  it('goes on with a corrected file after broken CSV', async () => {
    const { imports } = await make()
    const key = { 'idempotency-key': 'corrected' }
    expect((await imports.send(`${HEADER}${csvLines(0, 700)}a,"b\n`, key)).status).toBe(400)
    expect(await imports.apply(`${HEADER}${csvLines(0, 700)}a,b\n`, key)).toMatchObject({ rows: 701, applied: 701 })
  })

  it('refuses to be sent twice at once, and lets another request go on if the first stalls', async ({ skip }) => {
    skip(kind !== 'sqlite', 'the clock of the test moves')
    const { imports } = await make()
    const upload = imports.open('twice')
    await upload.send(HEADER + csvLines(0, 600))
    const file = HEADER + csvLines(0, 700)
    const send = () => imports.send(file, { 'idempotency-key': 'twice' })
    const refused = await until('the first request has begun', async () => {
      const rows = await server.database.query.selectFrom('imports').select('id').where('key', '=', 'twice').execute()
      return rows.length > 0 && send()
    })
    expectRefusal(refused, 409, 'conflict')
    expect(refused.headers.get('retry-after')).toBe('10')
    server.setClock(Date.now() + IMPORT_ABANDONED_MS + 1)
    const { body } = await send()
    server.setClock(undefined)
    expect(body).toMatchObject({ accepted: 700 })
    await upload.send(csvLines(600, 700))
    expect((await upload.end()).status).toBe(409)
    expect(await imports.applied(body.import_id)).toMatchObject({ rows: 700, applied: 700 })
  })

  it('refuses to go on with an import that the log may no longer know', async ({ skip }) => {
    skip(kind !== 'sqlite', 'the clock of the test moves')
    const { imports } = await make()
    await breakOff(imports, 'old', 600)
    server.setClock(Date.now() + SENT_ON_WITHIN_MS + 60_000)
    const answer = await imports.send(HEADER + csvLines(0, 700), { 'idempotency-key': 'old' })
    server.setClock(undefined)
    expectRefusal(answer, 409, 'conflict')
  })

  it(`receives at most ${IMPORT_SLOTS.slotsPerWorkspaceMax} imports of a workspace at once`, async () => {
    const { imports, workspace } = await make()
    const uploads = Array.from({ length: IMPORT_SLOTS.slotsPerWorkspaceMax }, () => imports.open())
    await Promise.all(uploads.map((upload) => upload.send(HEADER + csvLines(0, 600))))
    const begun = server.database.query.selectFrom('imports').select('id').where('workspace_id', '=', workspace.id)
    await until('all have begun', async () => (await begun.execute()).length === uploads.length)
    const refused = await imports.send(`${HEADER}a,x\n`)
    expectRefusal(refused, 503, 'unavailable')
    await Promise.all(uploads.map((upload) => upload.end()))
    expect((await imports.send(`${HEADER}a,x\n`)).status).toBe(200)
  })

  it('counts rows of which something was not stored', async () => {
    const { imports } = await make()
    const text = 'x'.repeat(200_000)
    const row = (index: number) => JSON.stringify({ customer_id: 'big', attributes: { [`a${index}`]: text } })
    const file = Array.from({ length: 12 }, (_, index) => `${row(index)}\n`).join('')
    expect(await imports.apply(file)).toMatchObject({ applied: 12, incomplete: 2 })
  })

  it('shows no import of another workspace', async () => {
    const [one, other] = [await make(), await make()]
    const { import_id: id } = await one.imports.apply(`${HEADER}a,x\n`)
    expectRefusal(await other.imports.find(id), 404, 'not_found')
  })

  it('stores protected addresses as Track User does, also of an import that was sent on', async () => {
    const encrypted = await make({ emailProtection: 'encrypted' })
    const tokenized = await make({ emailProtection: 'tokenized' })
    const rows = Array.from({ length: 700 }, (_, index) => `u${index},u${index}@example.com\n`)
    for (const { imports } of [encrypted, tokenized]) {
      const upload = imports.open('protected')
      await upload.send(`customer_id,email\n${rows.slice(0, 600).join('')}`)
      upload.breakOff()
      const answer = await until('the import can be sent on', async () => {
        const sent = await imports.send(`customer_id,email\n${rows.join('')}`, { 'idempotency-key': 'protected' })
        return sent.status === 200 ? sent.body : undefined
      })
      expect(await imports.applied(answer.import_id)).toMatchObject({ rows: 700, applied: 700 })
    }
    expect((await encrypted.tracking.getUser({ email: 'U5@example.com' })).body).toMatchObject({
      customer_id: 'u5',
      attributes: { email: 'u5@example.com' },
    })
    expect(await tokenized.attributesOf('u5')).toEqual({})
    const hidden = encrypted.workspace.id
    const stored = await server.database.query
      .selectFrom('users')
      .select('attributes')
      .where('workspace_id', '=', hidden)
      .execute()
    expect(stored.some(({ attributes }) => attributes.includes('@'))).toBe(false)
  })
})

describeEachStore('An import while the pipeline stands still', (kind) => {
  it('is accepted, and continues to say what is not applied', async () => {
    const server = await startServer(kind, {}, { withPipeline: false })
    try {
      const imports = importCallsOf(server, server.workspace)
      const { body } = await imports.send(HEADER + csvLines(0, 6_000))
      expect(body).toMatchObject({ status: 'processing', accepted: 6_000, applied: 0 })
      expect((await imports.find(body.import_id)).body).toEqual(body)
    } finally {
      await server.stop()
    }
  })
})
