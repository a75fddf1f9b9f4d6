// Finds the address of the running server that a command talks to.
import { isIPv6 } from 'node:net'
import type { Config } from '../../app/config.ts'
import type { CommandOption } from '../command.ts'
import type { Fault } from '../../core/app-error.ts'

/** The option of every command that talks to a server. */
export const SERVER_URL: Readonly<Record<'url', CommandOption>> = {
  url: { value: 'URL', summary: 'The address of the server. Default: HOST and PORT of the environment.' },
}

export const SERVER_URL_FAULT: Fault = { field: '--url', problem: 'must be an http or https URL' }

/** The address that the option gives, or the environment; undefined if it is none. */
export function toServerUrl({ host, port }: Pick<Config, 'host' | 'port'>, given: string | undefined): URL | undefined {
  const url = URL.parse(given ?? `http://${isIPv6(host) ? `[${host}]` : host}:${port}`)
  return url && /^https?:$/.test(url.protocol) ? url : undefined
}
