// The bounds of rendering one message ("rendering: … over 1 s, over 1 MiB").

/** The most bytes of HTML of one message. */
export const RENDERED_BYTES_MAX = 1024 * 1024
/** The longest that the thread may work on one message. */
export const RENDER_TIME_MAX_MS = 1_000

export const TOO_LONG = 'The message is longer than 1 MiB.'
export const TOO_SLOW = 'Rendering the message took longer than 1 second.'
