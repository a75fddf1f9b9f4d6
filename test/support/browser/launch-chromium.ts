// Finds Debian's Chromium and starts it for tests and benches.
import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'

/** Debian's, or where others put the same. The shell draws no window of its own, and takes half the time. */
export const CHROMIUM_PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser']

/** It asks nobody for anything, and finds no address but this machine's. */
const OPTIONS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-quic',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
]
const START_WAIT_MS = 60_000

/** Undefined where there is none. */
export function findChromium(): string | undefined {
  return CHROMIUM_PROGRAMS.find((path) => existsSync(path))
}

export function launchChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: OPTIONS, timeout: START_WAIT_MS })
}
