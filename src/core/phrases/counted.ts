// A number with its noun, for messages: 1 user, 2 users.

/** `plural` is for nouns that do more than add an s. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`
}
