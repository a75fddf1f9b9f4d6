// Waits until a database or a log answers. Waiting loses no entries.
import { pause } from '../../runtime/pause.ts'

/** The first pause, which doubles up to the longest. */
const RETRY_MS = 50
const RETRY_MS_MAX = 5_000

export interface Waiting {
  /** Asked before each try. */
  readonly isStopping: () => boolean
  readonly onFailure: (error: unknown) => void
}

/** Tries until `work` succeeds. Returns undefined when the process is stopping. */
export async function untilAvailable<Value>(
  work: () => Promise<Value>,
  { isStopping, onFailure }: Waiting,
): Promise<Value | undefined> {
  for (let waitMs = RETRY_MS; !isStopping(); waitMs = Math.min(RETRY_MS_MAX, waitMs * 2)) {
    try {
      return await work()
    } catch (error) {
      onFailure(error)
      await pause(waitMs)
    }
  }
  return undefined
}
