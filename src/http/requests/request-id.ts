// Request ids: UUIDs of version 7, which begin with the time, so that rows stored by id lie together.
import * as crypto from 'node:crypto'
import { v7 } from 'uuid'

/** Node makes them itself from 26.1 on. */
export const newRequestId: () => string = 'randomUUIDv7' in crypto ? () => crypto.randomUUIDv7() : () => v7()
