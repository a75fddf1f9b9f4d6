// Reads a file that a page has saved.
import { readFile } from 'node:fs/promises'
import type { Download } from 'playwright-core'

export async function readText(file: Download): Promise<string> {
  return readFile(await file.path(), 'utf8')
}
