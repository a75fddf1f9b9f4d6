// Parses the lists among the settings of delivery. Each function returns undefined for an invalid text.
import { isIP } from 'node:net'
import type { MachineNetwork } from '../../core/delivery/delivery-config.ts'
import { isHost } from '../../core/senders/domain-name.ts'

const LIST_MAX = 1_000

/** As `URL` writes hosts: names in lower case and for DNS, IPv6 addresses shortened; these without their brackets. */
export function toAttachmentHosts(text: string): string[] | undefined {
  const hosts = toList(text)
  return hosts?.every(isHost) ? hosts.map(toUrlHost) : undefined
}

function toUrlHost(host: string): string {
  const url = URL.parse(`http://${isIP(host) === 6 ? `[${host}]` : host}`)
  return (url?.hostname ?? host).replace(/^\[|\]$/g, '')
}

export function toMachineNetworks(text: string): MachineNetwork[] | undefined {
  const networks = toList(text)?.map(toMachineNetwork)
  return networks?.every((network) => network !== undefined) ? networks : undefined
}

const MACHINE_NETWORK =
  /^(?<address>[0-9a-f.:]+)(?:\/(?<prefix>\d{1,3}))?=(?<hits>opens|clicks|opens\+clicks|clicks\+opens)$/i

function toMachineNetwork(text: string): MachineNetwork | undefined {
  const { address = '', prefix, hits = '' } = MACHINE_NETWORK.exec(text)?.groups ?? {}
  const version = isIP(address)
  if (version === 0) return undefined
  const bits = version === 4 ? 32 : 128
  const bitsGiven = prefix === undefined ? bits : Number(prefix)
  if (bitsGiven < 1 || bitsGiven > bits) return undefined
  return {
    address,
    prefix: bitsGiven,
    family: version === 4 ? 'ipv4' : 'ipv6',
    opens: /opens/i.test(hits),
    clicks: /clicks/i.test(hits),
  }
}

function toList(text: string): string[] | undefined {
  const items = text.split(',').map((item) => item.trim())
  return items.length <= LIST_MAX ? items : undefined
}
