// Builds requests to Track Events as text: simple ones that take the fast path, and, with one line changed, others that do not.

export const EVENTS = '/v1/event/main'
export const eventOf = (customer: string) => ({ type: 'event', customer_id: customer, actions: [{ action: 'Visit' }] })

/** Changes to a simple request. */
export interface Head {
  readonly line?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: string
}

export function requestOf({
  line = `POST ${EVENTS} HTTP/1.1`,
  headers = {},
  body = JSON.stringify(eventOf('c')),
}: Head) {
  const all = {
    host: 'tidings.test',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]))
  return `${line}\r\n${lines.join('\r\n')}\r\n\r\n${body}`
}
