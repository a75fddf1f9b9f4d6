// The id of every request: a UUID of version 7, which begins with the time, so that rows stored by it lie together.
import * as crypto from 'node:crypto'
import { v7 } from 'uuid'

/** Node makes them itself from 26.1 on. */
export const newRequestId: () => string = 'randomUUIDv7' in crypto ? () => crypto.randomUUIDv7() : () => v7()
