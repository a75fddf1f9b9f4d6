// How many connections a process takes where the system lets it open few files.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { BIN, run, startServing } from '../support/program.ts'
import { RawConnection } from '../support/raw-http.ts'
import { until } from '../support/server.ts'

const HEALTH = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'

/** The program where it may open so many files, and a data directory that does not exist yet. */
function limitedTo(descriptors: number) {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-descriptors-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const bin = join(folder, 'limited')
  writeFileSync(bin, `#!/bin/sh\nulimit -n ${descriptors}\nexec ${BIN} "$@"\n`, { mode: 0o755 })
  return { bin, environment: { DATA_DIR: join(folder, 'data'), PORT: '0' } }
}

it(
  'a server that may open few files takes fewer connections, says so, and still opens its own files',
  { timeout: 60_000 },
  async () => {
    const { bin, environment } = limitedTo(230)
    const server = await startServing(environment, [], bin)
    expect(server.output().stderr).toContain(
      'at most 30 connections at once instead of 10000, because ulimit -n allows',
    )
    const kept: RawConnection[] = []
    while (kept.length < 30) {
      const connection = await RawConnection.open(server.started.url)
      await connection.write(HEALTH)
      expect((await connection.nextAnswer()).status).toBe(200)
      kept.push(connection)
    }
    const beyond = await RawConnection.open(server.started.url)
    await until('it is closed', () => beyond.isEnded)
    await kept[0]?.write('GET /readyz HTTP/1.1\r\nhost: x\r\n\r\nGET /docs HTTP/1.1\r\nhost: x\r\n\r\n')
    expect((await kept[0]?.nextAnswer())?.status).toBe(200)
    expect((await kept[0]?.nextAnswer())?.status).toBe(200)
    for (const connection of kept) connection.close()
    expect(await server.stop()).toMatchObject({ status: 0 })
  },
)

it('a server refuses to start, and creates nothing, if the limit of open files leaves no connection', async () => {
  const { bin, environment } = limitedTo(200)
  expect(await run(['serve'], environment, bin)).toEqual({
    status: 1,
    stdout: '',
    stderr:
      'tidings: The environment has 1 invalid setting.\n  ulimit -n allows this process 200 open files; it needs more than 200\n',
  })
  expect(existsSync(environment.DATA_DIR)).toBe(false)
})
