// What V8 knows of objects that come from JSON, kept while there are none.

/** Kind → the last object of it. */
const last = new Map<string, object>()

/**
 * To be called with one object of each kind, such as the one of a batch. V8 forgets what objects look like when the last of the
 * kind is gone, as after a batch; then it throws away the code that reads them, and compiles it again for the next. Code that is
 * called all the time took a twentieth of a processor like that. Keeps as many objects as there are kinds.
 */
export function keepLast(kind: string, value: object): void {
  last.set(kind, value)
}
