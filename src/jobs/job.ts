// The type of a job: work that a running server repeats. Each job has one file beside this one; `jobs.ts` lists them.

export interface Job {
  /** What it does, as the diagnostics name it when it fails: a verb with its object. */
  readonly name: string
  readonly everyMs: number
  /** One run. A long one checks `isStopping` and ends early. If it rejects, the next run follows anyway. */
  readonly run: (isStopping: () => boolean) => Promise<void>
}
