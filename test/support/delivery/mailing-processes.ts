// Servers that send campaigns in processes of their own, for tests that kill, stop and start them over one store.
import { createWorkspace } from '../../../src/actions/create-workspace.ts'
import { environmentOf, startServing, type Environment, type ServingProgram } from '../program.ts'
import { callsTo, LIMITS_OF_TESTS } from '../server.ts'
import { makeStore, openTestDatabase, type StoreKind } from '../stores.ts'
import type { MailingServer } from './mailing.ts'

export interface MailingProcesses extends MailingServer {
  readonly environment: Environment
  /** Starts a process; calls then go to it, if it listens. Without roles it has all. */
  start(...roles: readonly string[]): Promise<ServingProgram>
  /** Kills what still runs, and removes the store. */
  remove(): Promise<void>
}

export async function makeMailingProcesses(kind: StoreKind): Promise<MailingProcesses> {
  const location = await makeStore(kind)
  const database = await openTestDatabase(location)
  const workspace = await createWorkspace(database, 'main', { limits: LIMITS_OF_TESTS }, Date.now())
  await database.close()
  const environment = {
    ...environmentOf(location),
    PUBLIC_URL: 'http://127.0.0.1:8080',
    SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  }
  const started: ServingProgram[] = []
  let url = ''
  return {
    environment,
    workspace,
    call: callsTo(() => url, workspace),
    async start(...roles) {
      const server = await startServing(
        environment,
        roles.flatMap((role) => ['--role', role]),
      )
      started.push(server)
      if (roles.length === 0 || roles.includes('http')) ({ url } = server.started)
      return server
    },
    async remove() {
      await Promise.all(started.map((server) => server.stop('SIGKILL')))
      await location.remove()
    },
  }
}
