// The bounds of rendering one message ("rendering: … over 1 s, over 1 MiB").

/** The most bytes of HTML of one message. */
export const RENDERED_BYTES_MAX = 1024 * 1024
/** The longest that the thread may work on one message. */
export const RENDER_TIME_MAX_MS = 1_000
/** The same for a template that is being written, which is read too. Before, Liquid itself ends what it renders and tells where. */
export const DRAFT_TIME_MAX_MS = 2 * RENDER_TIME_MAX_MS
/** The most faults that are named of a template that is being written. */
export const DRAFT_FAULTS_MAX = 100

export const TOO_LONG = 'The message is longer than 1 MiB.'
export const TOO_SLOW = 'Rendering the message took longer than 1 second.'
