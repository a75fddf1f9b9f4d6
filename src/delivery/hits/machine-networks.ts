// Tells whether an address belongs to a network that the operator lists as one of machines (`MACHINE_NETWORKS`).
import { BlockList, isIP } from 'node:net'
import type { MachineNetwork } from '../../core/delivery/delivery-config.ts'
import type { HitKind } from '../../core/links/link-entry.ts'

/** IPv4 as a socket for both families shows it. */
const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i

export class MachineNetworks {
  readonly #lists: Readonly<Record<HitKind, BlockList>> = { open: new BlockList(), click: new BlockList() }

  constructor(networks: readonly MachineNetwork[]) {
    for (const { address, prefix, family, opens, clicks } of networks) {
      if (opens) this.#lists.open.addSubnet(address, prefix, family)
      if (clicks) this.#lists.click.addSubnet(address, prefix, family)
    }
  }

  has(ip: string, kind: HitKind): boolean {
    const address = ip.replace(MAPPED, '')
    const version = isIP(address)
    return version !== 0 && this.#lists[kind].check(address, version === 4 ? 'ipv4' : 'ipv6')
  }
}
