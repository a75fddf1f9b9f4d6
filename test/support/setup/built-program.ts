// Before all suites: builds `dist/` once and installs it as the image does, without sources. Tests start this program and its threads
// (`vitest.config.ts`) hundreds of times; they start with a third of the processor time that the sources need. Builds the dashboard of
// this checkout too if it has changed, so that no server within a suite does.
import { execFile } from 'node:child_process'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pino } from 'pino'
import type { TestProject } from 'vitest/node'
import { BuiltDashboard, findDashboardPlace } from '../../../src/http/dashboard/built-dashboard.ts'
import { copyCheckout, linkModules, ROOT } from './checkout.ts'
import { TEMPORARY_FOLDER } from './temporary-folder.ts'

const BUILD_MS_MAX = 120_000

declare module 'vitest' {
  export interface ProvidedContext {
    /** The path of the installed `bin/tidings`. */
    builtProgram: string
  }
}

/** The folder of the installation, the same in the configuration of Vitest. */
export const INSTALLATION = join(TEMPORARY_FOLDER, `tidings-built-${process.pid}`)

/** Vitest calls this before all suites, and the function it returns after them. */
export default async function setUp({ provide }: TestProject): Promise<() => void> {
  const bin = copyCheckout(INSTALLATION)
  linkModules(INSTALLATION, (entry) => entry !== '.cache')
  copyFileSync(join(ROOT, 'rolldown.config.ts'), join(INSTALLATION, 'rolldown.config.ts'))
  await Promise.all([
    promisify(execFile)('npm', ['run', 'build'], { cwd: INSTALLATION, timeout: BUILD_MS_MAX }),
    new BuiltDashboard(findDashboardPlace(), pino({ level: 'fatal' })).prepare(),
  ])
  for (const part of ['src', 'dashboard']) rmSync(join(INSTALLATION, part), { recursive: true })
  provide('builtProgram', bin)
  return () => rmSync(INSTALLATION, { recursive: true })
}
