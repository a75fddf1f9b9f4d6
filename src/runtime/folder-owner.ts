// Who owns files: what root makes in another user's folder goes to that user, and refusals name who may use a file.
import { chownSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'

/**
 * Gives a new file to the owner of its folder if this process is root. A server that runs as that owner could not open it otherwise.
 * SQLite does the same for the files beside its own. A temporary file of SQLite has an empty path.
 */
export function giveToFolderOwner(path: string): void {
  if (path === '' || process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(path))
  chownSync(path, uid, gid)
}

/** Who owns a file or folder, its permissions, and who this process is, as the part of a sentence that begins with a verb. */
export function describeOwner(path: string): string {
  const { uid, mode } = statSync(path)
  const self = userInfo()
  const permissions = (mode & 0o777).toString(8)
  return `belongs to user ${uid} with the permissions ${permissions}, and this process runs as user ${self.uid} (${self.username})`
}
