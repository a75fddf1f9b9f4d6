// What starts of campaigns, and checks before them, take from a request and from the server.
import type { Workspace } from '../../core/workspace.ts'
import type { StartSurroundings } from '../../delivery/start/start-plan.ts'
import type { Parts } from '../operation.ts'

export function toStartSurroundings(
  { workspace, now }: { readonly workspace: Workspace; readonly now: number },
  { delivery, emailVault, secretVault }: Pick<Parts, 'delivery' | 'emailVault' | 'secretVault'>,
): StartSurroundings {
  const { publicUrl, attachmentHosts } = delivery
  return { workspace, now, publicUrl, hasEmailVault: emailVault !== undefined, secretVault, attachmentHosts }
}
