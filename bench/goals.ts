// What a bench is to reach, and whether it did.

export interface Goal {
  /** What was reached, and what was to be. */
  readonly what: string
  readonly isMet: boolean
}

export function printGoals(goals: readonly Goal[]): void {
  for (const { what, isMet } of goals) process.stdout.write(`${isMet ? 'met   ' : 'MISSED'}  ${what}\n`)
}
