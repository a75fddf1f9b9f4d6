// Compares every answer that any test gets with the OpenAPI document: a status that is not described there is a mistake.
import type { ErrorBody } from '../../src/http/answers/error-answer.ts'
import { NOTHING_HERE } from '../../src/http/answers/error-answer.ts'
import { openApiDocument } from '../../src/http/reference/openapi.ts'
import { OPERATIONS } from '../../src/operations/operations.ts'

const addresses = Object.entries(openApiDocument(OPERATIONS, '').paths).map(([path, methods]) => ({
  path,
  pattern: new RegExp(`^${path.replaceAll('.', String.raw`\.`).replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  methods,
}))

/** Throws when the document has the operation, but not with this status. */
export function requireDescribed(method: string, address: string, status: number, body: unknown): void {
  const [path = ''] = address.split('?', 1)
  // What is no path at all to the server looks like one here.
  if ((body as Partial<ErrorBody> | undefined)?.error?.message === NOTHING_HERE.message) return
  const known = addresses.find(({ pattern }) => pattern.test(path))
  const responses = known?.methods[method.toLowerCase()]?.['responses'] as Record<string, unknown> | undefined
  if (responses && !Object.hasOwn(responses, status)) {
    throw new Error(`the OpenAPI document does not say that ${method} ${known?.path} may answer ${status}`)
  }
}
