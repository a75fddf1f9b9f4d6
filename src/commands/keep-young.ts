// How V8 treats new objects in a server.
import { flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'

/**
 * From here on, V8 puts no new object into the old generation at once. It decides on that from the first seconds, once and for
 * all, and where it happened to decide so for what a waiting request makes, everything the request held stayed with it: a quarter
 * of the processor time went to collecting.
 *
 * To be called when the code of all threads is loaded. V8 does not take code that was compiled under another such setting: a
 * process that is started with it compiles all that it needs of Node itself, which takes 0.2 s of processor time, and so does each
 * thread that is started later. What Node keeps of Tidings for those is in a folder of its own (`bin/load-sources.ts`).
 */
export function keepNewObjectsYoung(): void {
  // What was loaded so far is kept as it was compiled.
  flushCompileCache()
  setFlagsFromString('--no-allocation-site-pretenuring')
}
