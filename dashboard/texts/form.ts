// The words of forms, lists and messages that every screen uses.
import { formatCounted } from './format.ts'

export const formText = {
  busy: 'Sending…',
  faults: (count: number) => `${formatCounted(count, 'field')} to correct above.`,
  cancel: 'Cancel',
  close: 'Close',
  optional: 'optional',
  typeToConfirm: (word: string) => `Type ${word} to confirm`,
}

/** Choosing one of many things. */
export const chooseText = {
  change: 'Change',
  keep: 'Keep it',
  changeOf: (label: string) => `Change: ${label}`,
  keepOf: (label: string) => `Keep it: ${label}`,
  search: (label: string) => `Search: ${label}`,
  placeholder: 'Search by name',
  none: 'There is nothing to choose yet.',
  noMatch: 'Nothing matches.',
  gone: (id: string) => `${id} (no longer exists)`,
}

/** Two versions of the same, after somebody else saved first. */
export const conflictText = {
  title: 'Someone else has saved changes',
  lead: 'Your changes are not lost. Choose which version to keep. The other one was saved on',
  by: (who: string) => `by ${who}`,
  mine: 'Yours',
  theirs: 'Saved by someone else',
  noDifference: 'Both versions are the same.',
  editOn: 'Continue editing',
  keepMine: 'Keep my version',
  takeTheirs: 'Take the other version',
}

/** Of forms that change something stored. */
export const editText = {
  discard: 'Discard changes',
  compare: 'Compare both versions',
  conflictLead: 'What you typed is still here. Choose what to keep.',
  on: 'on',
  off: 'off',
  nothing: 'nothing',
}
