// Which content codings a client accepts.
import type { FastifyRequest } from 'fastify'

/** Whether the request names a content coding, `gzip` or `br`, in Accept-Encoding, and not to refuse it. */
export function acceptsCoding({ headers }: FastifyRequest, coding: string): boolean {
  const accepted = headers['accept-encoding']
  if (typeof accepted !== 'string') return false
  return accepted.split(',').some((item) => {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
    return name === coding && !parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter))
  })
}
