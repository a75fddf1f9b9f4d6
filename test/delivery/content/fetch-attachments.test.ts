// Attachments are fetched from the public internet only, within their bounds, from a real server.
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fetchAttachments } from '../../../src/delivery/content/attachments/fetch-attachments.ts'
import { isSpecialAddress } from '../../../src/delivery/content/attachments/special-addresses.ts'

const MEBIBYTE = 1024 * 1024
let server: Server
let base: string

const answer: RequestListener = ({ url }, response) => {
  if (url === '/plan.pdf') response.writeHead(200, { 'content-type': 'application/pdf; x=y' }).end('plan')
  else if (url === '/six') response.end(Buffer.alloc(6 * MEBIBYTE))
  else if (url === '/moved') response.writeHead(302, { location: '/plan.pdf' }).end()
  else if (url === '/circle') response.writeHead(302, { location: '/circle' }).end()
  else if (url === '/inside') response.writeHead(302, { location: base.replace('localhost', '127.0.0.1') }).end()
  else if (url === '/file') response.writeHead(302, { location: 'file:///etc/passwd' }).end()
  else if (url === '/cut') response.writeHead(200, { 'content-length': '10' }).write('x', () => response.destroy())
  else response.writeHead(404).end()
}

beforeAll(async () => {
  server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, resolve))
  base = `http://localhost:${(server.address() as AddressInfo).port}`
})

afterAll(() => server.close())

async function fetchAll(
  paths: readonly string[],
  hosts = ['localhost'],
  signal: AbortSignal = new AbortController().signal,
) {
  const wanted = paths.map((path, index) => ({ name: `file ${index}`, url: path.startsWith('/') ? base + path : path }))
  return fetchAttachments(wanted, { hosts, signal })
}

describe('attachments', () => {
  it('are fetched with their types, also behind a redirect', async () => {
    const { attachments, faults } = await fetchAll(['/plan.pdf', '/moved', '/six'])
    expect(faults).toEqual([])
    expect(attachments.map(({ name, type, content }) => [name, type, content.byteLength])).toEqual([
      ['file 0', 'application/pdf', 4],
      ['file 1', 'application/pdf', 4],
      ['file 2', 'application/octet-stream', 6 * MEBIBYTE],
    ])
  })

  it.each([
    ['/gone', 'the server answered 404'],
    ['/circle', 'more than 5 redirects'],
    ['/inside', '127.0.0.1 is not of the public internet'],
    ['/file', 'must have an http(s) address'],
    ['/cut', 'cannot be fetched'],
    ['ftp://localhost/x', 'must have an http(s) address'],
    ['nonsense', 'has an invalid address'],
    ['http://127.0.0.1/', 'is not of the public internet'],
    ['http://2130706433/', 'is not of the public internet'],
    ['http://0x7f.1/', 'is not of the public internet'],
    ['http://[::1]/', 'is not of the public internet'],
    ['http://[::ffff:169.254.169.254]/', 'is not of the public internet'],
    ['http://[64:ff9b::7f00:1]/', 'is not of the public internet'],
  ])('name the fault of %s', async (url, problem) => {
    const { attachments, faults } = await fetchAll([url])
    expect(attachments).toEqual([])
    expect(faults).toMatchObject([{ name: 'file 0', problem: expect.stringContaining(problem) as string }])
  })

  it('are refused from a name with an address that is not public, unless an operator allows it', async () => {
    const { faults } = await fetchAll(['/plan.pdf'], [])
    expect(faults[0]?.problem).toMatch(/^cannot be fetched: localhost has the address (127\.0\.0\.1|::1), which is not/)
    expect((await fetchAll(['/plan.pdf'], ['LOCALHOST'])).faults).toEqual([])
  })

  it('are not waited for after their time', async () => {
    const { faults } = await fetchAll(['/plan.pdf', '/six'], ['localhost'], AbortSignal.abort())
    const problem = expect.stringContaining('takes too long') as string
    expect(faults).toMatchObject([{ problem }, { problem }])
  })

  it('have at most 10 MiB in all; each that is too much is named', async () => {
    const { attachments, faults } = await fetchAll(['/six', '/six', '/plan.pdf'])
    expect(attachments.map(({ name }) => name)).toEqual(['file 0', 'file 2'])
    expect(faults).toMatchObject([{ name: 'file 1', problem: expect.stringContaining('at most 10 MiB') as string }])
  })
})

describe('special addresses', () => {
  it.each([
    ['8.8.8.8', false],
    ['172.15.0.1', false],
    ['2606:4700::1111', false],
    ['10.1.2.3', true],
    ['100.64.0.1', true],
    ['127.8.9.1', true],
    ['169.254.169.254', true],
    ['172.31.255.255', true],
    ['192.168.1.1', true],
    ['0.0.0.0', true],
    ['224.0.0.1', true],
    ['255.255.255.255', true],
    ['::', true],
    ['::1', true],
    ['fe80::1%eth0', true],
    ['fd00::1', true],
    ['ff02::1', true],
    ['::ffff:8.8.8.8', true],
    ['::127.0.0.1', true],
    ['64:ff9b::808:808', true],
    ['2001:db8::1', true],
    ['2002:7f00:1::', true],
    ['nonsense', true],
  ])('%s', (address, expected) => {
    expect(isSpecialAddress(address)).toBe(expected)
  })
})
