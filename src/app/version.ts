// Reads the version of this program from its package.json.
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

export function readVersion(): string {
  const text = readFileSync(findPackageJSON(import.meta.url) as string, 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
