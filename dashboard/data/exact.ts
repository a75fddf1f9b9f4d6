// Answers whose numbers keep every digit, as clients sent them: JSON.parse would round them. They are values as the core holds them, and
// `JSON.stringify` writes the digits again.
import { parseJsonText } from '../../src/core/json/parse-json.ts'
import type { Client } from './client.ts'
import type { Address, AnswerOf, Asked } from './contracts.ts'

export function getExactly<Url extends Address<'GET'>>(
  client: Client,
  url: Url,
  ...asked: Asked<'GET', Url>
): Promise<AnswerOf<'GET', Url>> {
  return readExactly(client.respond('GET', url, ...asked))
}

export function postExactly<Url extends Address<'POST'>>(
  client: Client,
  url: Url,
  ...asked: Asked<'POST', Url>
): Promise<AnswerOf<'POST', Url>> {
  return readExactly(client.respond('POST', url, ...asked))
}

export function patchExactly<Url extends Address<'PATCH'>>(
  client: Client,
  url: Url,
  ...asked: Asked<'PATCH', Url>
): Promise<AnswerOf<'PATCH', Url>> {
  return readExactly(client.respond('PATCH', url, ...asked))
}

async function readExactly<Answer>(responding: Promise<Response>): Promise<Answer> {
  const response = await responding
  return parseJsonText(await response.text()) as Answer
}

/** For people to read. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

/** In one line: a text as it is, anything else as JSON. */
export function writeShort(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
