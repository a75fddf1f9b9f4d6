// Answers whose numbers keep every digit, as clients sent them: JSON.parse would round them. They are values as the core holds them, and
// `JSON.stringify` writes the digits again.
import { parseJsonText } from '../../src/core/json/parse-json.ts'
import type { Client } from './client.ts'
import type { Address, AnswerOf, Asked } from './contracts.ts'

export async function getExactly<Url extends Address<'GET'>>(
  client: Client,
  url: Url,
  ...asked: Asked<'GET', Url>
): Promise<AnswerOf<'GET', Url>> {
  const response = await client.respond('GET', url, ...asked)
  return parseJsonText(await response.text()) as AnswerOf<'GET', Url>
}

/** For people to read. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

/** In one line: a text as it is, anything else as JSON. */
export function writeShort(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
