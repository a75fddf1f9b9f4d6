// Before all suites: builds `dist/` once and installs it as the image does, without sources. Tests start this program hundreds of
// times, and it starts with a third of the processor time that the sources need.
import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { copyCheckout, linkModules, ROOT } from './checkout.ts'

const BUILD_MS_MAX = 120_000

declare module 'vitest' {
  export interface ProvidedContext {
    /** The path of the installed `bin/tidings`. */
    builtProgram: string
  }
}

/** Vitest calls this before all suites, and the function it returns after them. */
export default async function setUp({ provide }: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-built-'))
  const installation = join(folder, 'app')
  const bin = copyCheckout(installation)
  linkModules(installation, (entry) => entry !== '.cache')
  copyFileSync(join(ROOT, 'rolldown.config.ts'), join(installation, 'rolldown.config.ts'))
  await promisify(execFile)('npm', ['run', 'build'], { cwd: installation, timeout: BUILD_MS_MAX })
  rmSync(join(installation, 'src'), { recursive: true })
  provide('builtProgram', bin)
  return () => rmSync(folder, { recursive: true })
}
