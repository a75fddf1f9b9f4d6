// What a process and what it stands on are at a moment.

/** What a process does (`serve --role`); by default all of it. */
export const PROCESS_ROLES = ['http', 'pipeline', 'delivery'] as const
export type ProcessRole = (typeof PROCESS_ROLES)[number]

export const STORE_KINDS = ['sqlite', 'postgres'] as const
export const LOG_KINDS = ['sqlite', 'postgres', 'jetstream'] as const

export interface SystemState {
  readonly version: string
  readonly nodeVersion: string
  readonly roles: readonly ProcessRole[]
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly memoryBytes: number
  readonly store: {
    readonly kind: (typeof STORE_KINDS)[number]
    /** The newest migration of the tables. */
    readonly schema: string
    readonly bytes: number
  }
  readonly log: {
    readonly kind: (typeof LOG_KINDS)[number]
    /** Null where the log is no file and has no size of its own. */
    readonly bytes: number | null
    readonly lagEntries: number
    readonly lagSeconds: number
  }
  /** Why the process is not ready for requests: phrases. Empty if it is. */
  readonly problems: readonly string[]
}
