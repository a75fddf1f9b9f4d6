// The built files of the dashboard in memory. A request names one of them or nothing: no path of a request reaches the disk.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CODINGS, MANIFEST_FILE, PAGE_FILE, type DashboardManifest } from './manifest.ts'

export interface DashboardFile {
  /** Its media type. */
  readonly type: string
  readonly content: Buffer
  /** Its compressed variants, best first. */
  readonly variants: readonly (readonly [coding: string, content: Buffer])[]
}

export interface DashboardFiles {
  readonly page: DashboardFile
  /** All others: `assets/main-K2xQ9a.js` → file. */
  readonly assets: ReadonlyMap<string, DashboardFile>
}

export async function readManifest(folder: string): Promise<DashboardManifest> {
  return JSON.parse(await readFile(join(folder, MANIFEST_FILE), 'utf8')) as DashboardManifest
}

/** Reads all files. Throws if one is missing. */
export async function readDashboard(folder: string): Promise<DashboardFiles> {
  const { files } = await readManifest(folder)
  const read = files.map(async ({ path, type }) => {
    const at = join(folder, path)
    const variants = CODINGS.map(async ([coding, ending]) => [coding, await readFile(at + ending)] as const)
    return [path, { type, content: await readFile(at), variants: await Promise.all(variants) }] as const
  })
  const assets = new Map<string, DashboardFile>(await Promise.all(read))
  const page = assets.get(PAGE_FILE)
  if (!page) throw new Error(`${MANIFEST_FILE} names no ${PAGE_FILE}`)
  assets.delete(PAGE_FILE)
  return { page, assets }
}
