// Room for new objects on the pipeline's thread.
import { setFlagsFromString } from 'node:v8'
import type { Worker } from 'node:worker_threads'

const SETTING = '--max-semi-space-size'
/**
 * MiB. A batch makes up to some 20 MiB of objects, which are garbage when it ends. In half of this room V8 collected several
 * times within a batch, took what the batch still used for old, and had to go over all old objects twice a second.
 */
const ROOM_MIB = 16

/**
 * Starts a thread that has more room for new objects than others, where the process was started with a limit (`bin/tidings`
 * does that). V8 reads the limit when a thread makes its heap, and goes by it whatever `resourceLimits` of the thread say.
 */
export function startWithRoom(start: () => Worker): Worker {
  const ofProcess = process.execArgv.find((option) => option.startsWith(`${SETTING}=`))
  if (ofProcess === undefined) return start()
  setFlagsFromString(`${SETTING}=${ROOM_MIB}`)
  const thread = start()
  thread.once('online', () => setFlagsFromString(ofProcess))
  return thread
}
