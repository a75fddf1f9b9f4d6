// The pages without authentication, as data. `operator-routes.ts` serves them; the OpenAPI document describes them.

export interface OperatorPage {
  readonly path: string
  readonly summary: string
  readonly description: string
  readonly mediaType: string
  /** JSON Schema of the answer; a string where it is not JSON. */
  readonly schema: object
  /** Whether it answers 503 while something that Tidings needs is missing. */
  readonly mayBeUnavailable?: boolean
}

const JSON_TYPE = 'application/json'
const Status = { type: 'string', const: 'ok' }
const Version = { type: 'string', description: 'The version of this server.' }
const Text = { type: 'string' }

export const OPERATOR_PAGES = [
  {
    path: '/',
    summary: 'Name and version',
    description: "The server's name and version, and where everything else is.",
    mediaType: JSON_TYPE,
    schema: objectOf({
      name: { type: 'string', const: 'tidings' },
      version: Version,
      links: { type: 'object', additionalProperties: Text },
    }),
  },
  {
    path: '/healthz',
    summary: 'Whether the process lives',
    description: 'Answers as long as the process runs, even while the store or the log does not.',
    mediaType: JSON_TYPE,
    schema: objectOf({ status: Status, version: Version }),
  },
  {
    path: '/readyz',
    summary: 'Whether requests can be served',
    description:
      'Proves that store and log can be written now; 503 with the reason if not, and while the process is stopping.',
    mediaType: JSON_TYPE,
    schema: objectOf({ status: Status }),
    mayBeUnavailable: true,
  },
  {
    path: '/metrics',
    summary: 'Metrics',
    description: "Requests, log and pipeline in Prometheus' text format.",
    mediaType: 'text/plain',
    schema: Text,
  },
  {
    path: '/openapi.json',
    summary: 'This document',
    description: 'OpenAPI 3.1 of every operation.',
    mediaType: JSON_TYPE,
    schema: { type: 'object' },
  },
  {
    path: '/docs',
    summary: 'Reference page',
    description: 'A page on which to read and try every operation. Nothing on it is loaded from elsewhere.',
    mediaType: 'text/html',
    schema: Text,
  },
] as const satisfies readonly OperatorPage[]

export type OperatorPath = (typeof OPERATOR_PAGES)[number]['path']

function objectOf(properties: Readonly<Record<string, object>>) {
  return { type: 'object', required: Object.keys(properties), properties }
}
