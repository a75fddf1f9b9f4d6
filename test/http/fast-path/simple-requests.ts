// Requests to Track Events as texts: those that take the fast path, and, with one line changed, those that do not.

export const EVENTS = '/v1/event/main'
export const eventOf = (customer: string) => ({ type: 'event', customer_id: customer, actions: [{ action: 'Visit' }] })

/** Lines of a head, and what of them is changed. */
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
