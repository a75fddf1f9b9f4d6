// Requests the reference page while the process cannot open more files, and again when it can. Prints the status of each answer.
import { closeSync, openSync } from 'node:fs'
import Fastify from 'fastify'
import { addReferencePage } from '../../src/http/reference/reference-page.ts'

export interface PageStatuses {
  readonly without: number
  readonly after: number
}

const app = Fastify()
addReferencePage(app)
const statusOf = async (path: string) => (await app.inject(path)).statusCode
// The first request loads the code that answers.
await statusOf('/docs/icon.svg')
const opened = openAsManyAsPossible()
const without = await statusOf('/docs')
for (const file of opened) closeSync(file)
const after = await statusOf('/docs')
process.stdout.write(JSON.stringify({ without, after } satisfies PageStatuses))

function openAsManyAsPossible(): number[] {
  const files: number[] = []
  try {
    for (;;) files.push(openSync(import.meta.filename, 'r'))
  } catch {
    return files
  }
}
