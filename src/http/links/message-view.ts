// The seam between the link `/v/TOKEN`, which shows a message in a browser, and what renders messages.
import type { LinkedRun } from '../../store/delivery/linked-messages.ts'

/** A message as HTML, and the Content-Security-Policy under which a browser may show it. */
export interface MessageView {
  readonly html: string
  readonly contentSecurityPolicy: string
}

/** Renders a message as it was sent; undefined if it cannot be shown. */
export type RenderMessage = (run: LinkedRun, message: number) => Promise<MessageView | undefined>
