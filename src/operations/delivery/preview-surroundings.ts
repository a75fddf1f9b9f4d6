// What previews and tests of campaigns take from a request and from the server.
import type { PreviewSurroundings } from '../../delivery/preview/previewed-campaign.ts'
import type { Workspace } from '../../core/workspace.ts'
import type { Parts } from '../operation.ts'

export function toPreviewSurroundings(
  workspace: Workspace,
  { secretVault, delivery }: Pick<Parts, 'secretVault' | 'delivery'>,
): PreviewSurroundings {
  const { publicUrl, attachmentHosts } = delivery
  return { workspace, secretVault, publicUrl, attachmentHosts }
}
