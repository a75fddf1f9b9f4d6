// A PostgreSQL server that belongs to one run of the tests, or to one test, for faults that all other tests would feel too. Made from the
// programs that are installed, in a temporary folder and on a free port.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { findFreePorts } from './free-ports.ts'
import { endWithTests } from './end-with-tests.ts'

const HOST = '127.0.0.1'
/** Where Debian keeps the versions that are installed. */
const DEBIAN_VERSIONS = '/usr/lib/postgresql'
/** Users to run it as: the server refuses to run as root. */
const OTHER_USERS = ['postgres', 'nobody']
const CONNECTIONS_MAX = 200
const START_WAIT_MS = 60_000
const LOOK_MS = 20

export interface OwnPostgres {
  /** The address of an empty database in it. */
  readonly url: string
  /** Ends the server as `pg_ctl stop -m immediate` does: at once, without writing down what is in memory. */
  crash(): Promise<void>
  /** Starts it again; resolves when it takes connections. */
  start(): Promise<void>
  /** Ends it and removes its folder. */
  remove(): Promise<void>
}

/** Settings that are not the defaults, by name. Undefined, with a line that says why, where no server can be made. */
export async function startOwnPostgres(
  chosen: Readonly<Record<string, string>> = {},
): Promise<OwnPostgres | undefined> {
  const programs = findPrograms()
  const user = findUser()
  if (programs === undefined || user === undefined) {
    const reason = programs === undefined ? 'initdb is not found' : 'root has no other user to run it as'
    process.stderr.write(`no PostgreSQL server of the tests' own (${reason})\n`)
    return undefined
  }
  const folder = mkdtempSync(join(tmpdir(), 'tidings-postgres-'))
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  execFileSync(join(programs, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'], {
    ...user,
    stdio: 'pipe',
  })
  const [port = 0] = await findFreePorts(1)
  const settings = {
    listen_addresses: HOST,
    port,
    unix_socket_directories: '',
    max_connections: CONNECTIONS_MAX,
    ...chosen,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const url = `postgres://postgres@${HOST}:${port}/postgres`
  let server: ChildProcess | undefined
  const start = async () => {
    server = spawn(join(programs, 'postgres'), ['-D', data, ...args], { ...user, stdio: 'ignore' })
    endWithTests(server)
    await untilAnswers(url)
  }
  const crash = async () => {
    if (!server) return
    const ended = once(server, 'exit')
    server.kill('SIGQUIT')
    await ended
    server = undefined
  }
  await start()
  return {
    url,
    crash,
    start,
    async remove() {
      await crash()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The folder with the programs of a server: that of the version in use, otherwise the newest that Debian has. */
function findPrograms(): string | undefined {
  const versions = existsSync(DEBIAN_VERSIONS) ? readdirSync(DEBIAN_VERSIONS) : []
  const newestFirst = versions.toSorted((left, right) => Number(right) - Number(left))
  const folders = [...configuredFolder(), ...newestFirst.map((version) => join(DEBIAN_VERSIONS, version, 'bin'))]
  return folders.find((folder) => ['initdb', 'postgres'].every((program) => existsSync(join(folder, program))))
}

function configuredFolder(): string[] {
  try {
    return [execFileSync('pg_config', ['--bindir'], { encoding: 'utf8', stdio: 'pipe' }).trim()]
  } catch {
    return []
  }
}

interface User {
  readonly uid?: number
  readonly gid?: number
}

/** Whom the server runs as: ourselves, unless that is root. */
function findUser(): User | undefined {
  if (process.getuid?.() !== 0) return {}
  for (const name of OTHER_USERS) {
    try {
      const [uid, gid] = ['-u', '-g'].map((what) => Number(execFileSync('id', [what, name], { stdio: 'pipe' })))
      if (uid !== undefined && gid !== undefined) return { uid, gid }
    } catch {
      // This machine has no such user.
    }
  }
  return undefined
}

/** `until` of `server.ts` is only for test files. */
async function untilAnswers(url: string): Promise<void> {
  const deadline = performance.now() + START_WAIT_MS
  while (!(await answers(url))) {
    if (performance.now() > deadline) throw new Error(`PostgreSQL takes no connections within ${START_WAIT_MS} ms`)
    await pause(LOOK_MS)
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
