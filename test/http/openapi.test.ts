// The OpenAPI document is valid and describes what the server does.
import { Validator } from '@seriousme/openapi-schema-validator'
import { Value } from 'typebox/value'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openApiDocument, type OpenApiDocument } from '../../src/http/reference/openapi.ts'
import { OPERATOR_PAGES } from '../../src/http/reference/operator-pages.ts'
import { OperationValidator } from '../../src/http/requests/validation.ts'
import { CouponCsv } from '../../src/core/coupons/coupon-csv.ts'
import { addCoupons } from '../../src/operations/coupons/add-coupons.ts'
import { fetchCampaignStats } from '../../src/operations/statistics/fetch-campaign-stats.ts'
import type { Operation } from '../../src/operations/operation.ts'
import { isKeyless } from '../../src/core/accounts/credential.ts'
import { OPERATIONS } from '../../src/operations/operations.ts'
import { startServer, type TestServer } from '../support/server.ts'

interface Parameter {
  readonly $ref?: string
  readonly name?: string
  readonly in?: string
  readonly required?: boolean
  readonly schema?: Schema
}

interface DescribedOperation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly security: readonly Record<string, unknown>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Record<string, { readonly schema: object; readonly example?: unknown }> }
  readonly responses: Record<string, { readonly content?: Record<string, unknown>; readonly headers?: object }>
}

const document = openApiDocument(OPERATIONS, '1.2.3')

/** Every path of every operation, as the document writes it. */
const addresses = OPERATIONS.flatMap((operation) =>
  [operation.url, ...(operation.otherUrls ?? [])].map((url) => {
    const path = url.replaceAll(/:(\w+)/g, '{$1}')
    return { operation, path, line: `${operation.method} ${path}` }
  }),
)

function find(path: string, method: string): DescribedOperation {
  const described = document.paths[path]?.[method.toLowerCase()]
  if (!described) throw new Error(`the document has no ${method} ${path}`)
  return described as unknown as DescribedOperation
}

/** The header parameters, by the names of their components. */
function headersOf({ parameters = [] }: DescribedOperation): string[] {
  return parameters.flatMap(({ $ref }) => ($ref === undefined ? [] : [$ref.replace('#/components/parameters/', '')]))
}

const ANSWERS_SECRETS = new Set(['sign_in', 'accept_access_link', 'begin_totp', 'invite_person', 'reset_password'])

describe('The OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate(structuredClone(document))
    expect(result.errors).toBeUndefined()
    expect(result.valid).toBe(true)
    expect(document.openapi).toMatch(/^3\.1\./)
  })

  it('has every path of every operation, the pages for operators, and nothing else', () => {
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const expected = [...addresses.map(({ line }) => line), ...OPERATOR_PAGES.map(({ path }) => `GET ${path}`)]
    expect(described.toSorted()).toEqual(expected.toSorted())
  })

  it('gives every operation a unique id', () => {
    const ids = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    )
    expect(new Set(ids).size).toBe(ids.length)
  })

  const documented: [method: string, path: string, appKey: boolean, tile: string][] = [
    ['POST', '/v1.0/custom-templates/email/search', false, 'DataKey'],
    ['GET', '/v1/coupon-list/{coupon_list_id}', true, 'ReportsKey'],
    ['POST', '/v1/event/{Workspace_ID}', false, 'DataKey'],
    ['PUT', '/v1.0/opt-in-management/user-preferences', true, 'DataKey'],
    ['POST', '/core-services/v1/campaign-stats', true, 'ReportsKey'],
  ]
  it.each(documented)(
    'describes %s %s, which a key or a person may call, as the API document does',
    (method, path, appKey, key) => {
      const described = find(path, method)
      expect(headersOf(described).includes('AppKey')).toBe(appKey)
      expect(described.security).toEqual([{ [key]: [] }, { Session: [] }])
      expect(described.responses).toHaveProperty('200')
    },
  )

  it.each(addresses)('describes $line as it is served', ({ operation, path }) => {
    const described = find(path, operation.method)
    const { parameters = [] } = described
    const named = (location: string) => parameters.filter((parameter) => parameter.in === location)
    expect(named('path').map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? [])
    expect(named('query').map(({ name }) => name)).toEqual(Object.keys(operation.query.properties))
    expect(headersOf(described)).toEqual([
      ...(operation.takesAppKey ? ['AppKey'] : []),
      ...(operation.takesIdempotencyKey ? ['IdempotencyKey'] : []),
      ...(operation.takesForwardedFor ? ['ForwardedFor'] : []),
    ])
    expect(described.tags).toEqual([operation.group])
    expect(Object.keys(described.requestBody?.content ?? {})).toEqual(mediaTypesOf(operation))
    const success = described.responses[operation.successStatus]
    expect(success?.content !== undefined).toBe(operation.output !== null)
    expect(Object.keys(success?.headers ?? {})).toEqual([
      'x-request-id',
      'x-ratelimit-limit',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
    ])
    expect(Object.keys(described.responses)).toEqual(
      expect.arrayContaining([
        '400',
        '401',
        '403',
        '429',
        '500',
        '503',
        ...(operation.body || operation.upload ? ['413', '415'] : []),
      ]),
    )
    for (const name of operation.limits) expect(described.description).toContain(`limits.${name}`)
  })

  const creating = OPERATIONS.filter(({ method, isReadOnly, name, requires }) => {
    // Mail servers and mail services send no such header; what they report counts once without it.
    if (isKeyless(requires)) return false
    // The answers hold a secret that must not be stored, and a repeat makes another one.
    if (ANSWERS_SECRETS.has(name)) return false
    // A repeat finds nobody in doubt any more, or the invitation used up; a test is sent as often as somebody asks for it.
    if (name === 'decide_in_doubt' || name === 'join_workspace' || name === 'test_campaign') return false
    // A repeat finds nothing parked any more.
    if (name === 'replay_parked') return false
    // A repeat finds the recount that waits or runs.
    if (name === 'start_recount') return false
    // Its answer must not be stored, because it holds the key.
    if (name === 'generate_key') return false
    return (method === 'POST' && !isReadOnly) || name === 'update_template'
  })
  it('says that exactly the operations that create or append take an Idempotency-Key, and may answer 409', () => {
    const taking = addresses.filter(({ operation, path }) =>
      headersOf(find(path, operation.method)).includes('IdempotencyKey'),
    )
    expect([...new Set(taking.map(({ operation }) => operation.name))]).toEqual(creating.map(({ name }) => name))
    for (const { operation, path } of taking) expect(find(path, operation.method).responses).toHaveProperty('409')
  })

  it('does not claim that nothing was executed after a 503, and says how to repeat the request', () => {
    const { responses } = document.components as { responses: { Unavailable: { readonly description: string } } }
    expect(responses.Unavailable.description).not.toContain('nothing was executed')
    expect(responses.Unavailable.description).toContain('`Idempotency-Key`')
  })

  it('describes the range of Fetch Campaign Stats as the operation accepts it: 31 days with both ends', () => {
    const { description } = find(fetchCampaignStats.url, 'POST')
    expect(description).toContain('from `start_date` to `end_date`, both inclusive and at most 30 days apart')
    const { example, body } = fetchCampaignStats
    const range = { ...(example as object), start_date: '2026-03-01', end_date: '2026-03-31' }
    const sent = { value: range, hasLongNumbers: false }
    expect(body && new OperationValidator(fetchCampaignStats).body(body, sent).faults).toEqual([])
  })

  const bodies = OPERATIONS.flatMap((operation) => (operation.body ? [{ operation, body: operation.body }] : []))
  it.each(bodies)('has an example for $operation.summary that the operation accepts', ({ operation, body }) => {
    const sent = { value: operation.example, hasLongNumbers: false }
    expect(new OperationValidator(operation).body(body, sent).faults).toEqual([])
  })

  it('has a short example answer of Fetch Campaign Stats that matches its schema', () => {
    const { output, outputExample } = fetchCampaignStats
    expect(output && Value.Check(output, outputExample)).toBe(true)
    expect(JSON.stringify(outputExample).length).toBeLessThan(4_096)
    const success = find(fetchCampaignStats.url, 'POST').responses['200'] as { content: Record<string, object> }
    expect(success.content['application/json']).toMatchObject({ example: outputExample })
  })

  it('has example codes to upload that the operation accepts', () => {
    const csv = new CouponCsv()
    const codes = csv.push(Buffer.from(addCoupons.upload?.examples['text/csv'] ?? ''))
    expect([...codes, ...csv.end()]).toEqual(['SUMMER-7Q2X', 'SUMMER-9KDF'])
    expect(csv.invalidLines).toBe(0)
    const { content } = find('/v1/coupon-list/{coupon_list_id}/coupons', 'POST').requestBody ?? { content: {} }
    expect(content['text/csv']?.example).toBe(addCoupons.upload?.examples['text/csv'])
  })

  it.each(OPERATIONS)('has schemas for $summary that the validator can compile', (operation) => {
    const validator = new OperationValidator(operation)
    const { body } = operation
    const sent = { value: {}, hasLongNumbers: false }
    expect(() => [validator.path({}), validator.query({}, ''), body && validator.body(body, sent)]).not.toThrow()
  })

  const nullable: [path: string, members: readonly (readonly string[])[]][] = [
    ['/v1/event/{Workspace_ID}', [['customer_id'], ['device_id']]],
    [
      '/v1/event/{Workspace_ID}',
      ['attributes', 'platform', 'app_version', 'event_id'].map((name) => ['actions', name]),
    ],
    ['/v1/customer/{Workspace_ID}', [['customer_id'], ['attributes'], ['attributes', 'email']]],
  ]
  it.each(nullable)('says where %s accepts null: %j', (path, members) => {
    for (const member of members) {
      const found = member.reduce(
        memberOf,
        find(path, 'POST').requestBody?.content['application/json']?.schema as Schema,
      )
      expect([member, found.type]).toEqual([member, expect.arrayContaining(['null'])])
    }
  })

  const anyName: [path: string, members: readonly string[]][] = [
    ['/v1/event/{Workspace_ID}', ['actions', 'attributes']],
    ['/v1/event/{Workspace_ID}/{project_code}', ['actions', 'attributes']],
    ['/v1/customer/{Workspace_ID}', ['attributes']],
  ]
  it.each(anyName)('says that %s accepts any names in: %j', (path, members) => {
    const body = find(path, 'POST').requestBody?.content['application/json']?.schema as Schema
    // A generated client refuses names that its types lack, such as those of the document's own examples.
    expect(members.reduce(memberOf, body).additionalProperties).toBe(true)
  })

  it('describes objects with arbitrary names in a form that client generators support', () => {
    expect(JSON.stringify(document)).not.toContain('patternProperties')
    const answer = find('/v1.0/opt-in-management/user-preferences/history', 'GET').responses['200'] as {
      readonly content: Record<string, { readonly schema: Schema }>
    }
    const proof = memberOf(answer.content['application/json']?.schema ?? {}, 'data')
    expect(memberOf(memberOf(proof, 'after'), 'categories').additionalProperties).toEqual({ type: 'boolean' })
  })

  it.each(addresses)('gives each parameter of $line one type', ({ operation, path }) => {
    const { parameters = [] } = find(path, operation.method)
    const types = parameters.flatMap(({ $ref, schema }) => ($ref === undefined ? [schema?.type] : []))
    expect(types.filter((type) => type !== 'string' && type !== 'integer')).toEqual([])
  })

  it('omits formats that only we define', () => {
    expect(JSON.stringify(document)).not.toContain('"format":"text"')
  })
})

interface Schema {
  readonly type?: unknown
  readonly items?: Schema
  readonly additionalProperties?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
}

function memberOf({ properties, items }: Schema, name: string): Schema {
  const member = (properties ?? items?.properties)?.[name]
  if (!member) throw new Error(`there is no member ${name}`)
  return member
}

function mediaTypesOf({ body, upload }: Operation): string[] {
  return [...(body ? ['application/json'] : []), ...Object.keys(upload?.examples ?? {})]
}

describe('GET /openapi.json', () => {
  let server: TestServer
  beforeAll(async () => void (server = await startServer('sqlite')))
  afterAll(() => server.stop())

  it('serves the document without authentication', async () => {
    const answer = await server.call<OpenApiDocument>('GET', '/openapi.json', { as: null })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(Object.keys(answer.body.paths)).toEqual(Object.keys(document.paths))
  })
})
