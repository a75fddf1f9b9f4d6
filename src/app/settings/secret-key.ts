// Finds the key that encrypts secrets: SECRET_KEY, or for an embedded store the file secret.key, which is made once.
import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { codeOf } from '../../core/thrown.ts'
import { giveToFolderOwner } from '../../runtime/folder-owner.ts'
import { SECRET_KEY_BYTES, SecretVault } from '../../store/secret-vault.ts'
import { ConfigError, type Config } from '../config.ts'
import { KEY_NEED, toKey } from './setting-values.ts'

/** In DATA_DIR. Holds the text that SECRET_KEY would have. */
export const SECRET_KEY_FILE = 'secret.key'
const OWNER_ONLY = 0o600

type KeyLocation = Pick<Config, 'secretKey' | 'databaseUrl' | 'dataDir'>

/** Undefined for a store in PostgreSQL without SECRET_KEY. Throws as `findSecretKey` does. */
export function openSecretVault(location: KeyLocation): SecretVault | undefined {
  const key = findSecretKey(location)
  return key && new SecretVault(key)
}

/** The folder must exist. Throws ConfigError if its file cannot be read, or holds no key. */
export function findSecretKey({ secretKey, databaseUrl, dataDir }: KeyLocation): Uint8Array | undefined {
  if (secretKey || databaseUrl !== undefined) return secretKey
  const path = join(dataDir, SECRET_KEY_FILE)
  const key = toKey((readIfPresent(path) ?? makeKeyFile(path)).trim())
  if (key) return key
  throw new ConfigError([{ field: 'DATA_DIR', problem: `has the file ${path}, which must contain ${KEY_NEED}` }])
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    const problem = `has the file ${path}, which cannot be read (${codeOf(error)})`
    throw new ConfigError([{ field: 'DATA_DIR', problem }])
  }
}

/**
 * The file gets its name when it is complete and on disk: a crash leaves no half of a key, and of two processes the second takes the key
 * of the first.
 */
function makeKeyFile(path: string): string {
  const unfinished = `${path}.unfinished-${randomBytes(6).toString('hex')}`
  try {
    writeKey(unfinished)
    publish(unfinished, path)
  } finally {
    rmSync(unfinished, { force: true })
  }
  return readFileSync(path, 'utf8')
}

/** Renames where the file system has no links. */
function publish(unfinished: string, path: string): void {
  try {
    linkSync(unfinished, path)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return
    renameSync(unfinished, path)
  }
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

function writeKey(path: string): void {
  const descriptor = openSync(path, 'wx', OWNER_ONLY)
  try {
    writeSync(descriptor, `${randomBytes(SECRET_KEY_BYTES).toString('base64')}\n`)
    giveToFolderOwner(path)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
