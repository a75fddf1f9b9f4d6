// Which addresses are not of the public internet (the registries of special-purpose addresses, RFC 6890): our own machine, private
// networks, link-local addresses with the metadata of clouds, and forms of IPv6 that contain an IPv4 address.
import { BlockList, isIPv4, isIPv6 } from 'node:net'

const IPV4_NETWORKS = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]
/** Everything else in IPv6 is special. */
const IPV6_GLOBAL = '2000::/3'
/** Within it: Teredo, benchmarks, ORCHID, documentation, 6to4. */
const IPV6_NETWORKS = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const special = blockList(IPV4_NETWORKS, 'ipv4')
const specialInGlobal = blockList(IPV6_NETWORKS, 'ipv6')
const global = blockList([IPV6_GLOBAL], 'ipv6')

/** Also true for a text that is no address. */
export function isSpecialAddress(address: string): boolean {
  const [plain = ''] = address.split('%')
  if (isIPv4(plain)) return special.check(plain, 'ipv4')
  if (!isIPv6(plain)) return true
  return !global.check(plain, 'ipv6') || specialInGlobal.check(plain, 'ipv6')
}

function blockList(networks: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    list.addSubnet(address, Number(prefix), family)
  }
  return list
}
