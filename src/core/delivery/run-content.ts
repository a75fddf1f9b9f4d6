// What a run adds to the templates that were pinned when its campaign was started.

export interface RunContent {
  /** For each template version, how many links the templates before it have: its own are numbered after these. */
  readonly linksBefore: readonly {
    readonly externalTemplateId: string
    readonly version: number
    readonly count: number
  }[]
}
