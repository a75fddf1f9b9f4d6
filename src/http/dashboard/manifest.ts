// The manifest of the built dashboard: `dashboard/build.ts` writes it beside the files, and the server reads it.
import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** The name of the manifest in the folder of the built files. */
export const MANIFEST_FILE = 'manifest.json'
/** The page, among the files. */
export const PAGE_FILE = 'index.html'
/** The compressed variants of each file: the content coding, best first, and what the name of the variant ends with. */
export const CODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

export interface DashboardManifest {
  readonly files: readonly BuiltFile[]
  readonly inputs: readonly BuildInput[]
}

export interface BuiltFile {
  /** From the folder of the built files, with slashes: `index.html`, `assets/main-K2xQ9a.js`. */
  readonly path: string
  /** Its media type. */
  readonly type: string
}

/** A file of the checkout that the build read. */
export interface BuildInput {
  /** From the root of the checkout, with slashes. */
  readonly path: string
  readonly bytes: number
  readonly modifiedMs: number
  readonly hash: string
}

/** Describes a file of the checkout as it is now. */
export async function readInput(root: string, path: string): Promise<BuildInput> {
  const file = join(root, path)
  const { size, mtimeMs } = await stat(file)
  return { path, bytes: size, modifiedMs: mtimeMs, hash: await hashFile(file) }
}

/** Whether a file that the build read is another one now, or gone. */
export async function hasChanged(root: string, inputs: readonly BuildInput[]): Promise<boolean> {
  return (await Promise.all(inputs.map((input) => isOther(root, input)))).includes(true)
}

/** The times of a copied checkout are others, but its files are the same: only then they are read. */
async function isOther(root: string, { path, bytes, modifiedMs, hash }: BuildInput): Promise<boolean> {
  const file = join(root, path)
  try {
    const { size, mtimeMs } = await stat(file)
    return size !== bytes || (mtimeMs !== modifiedMs && (await hashFile(file)) !== hash)
  } catch {
    return true
  }
}

async function hashFile(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('base64url')
}
