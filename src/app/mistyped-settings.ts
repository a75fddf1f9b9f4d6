// Warns of environment variables whose names are almost those of settings. Others belong to other programs.
import { findClosest } from './closest-name.ts'

/** A sentence for each. A setting that is set itself is not misspelt. */
export function findMistyped(
  environment: Readonly<Record<string, string | undefined>>,
  settings: readonly string[],
): readonly string[] {
  const given = Object.keys(environment)
  const absent = settings.filter((name) => !given.includes(name))
  return given.flatMap((name) => {
    const meant = settings.includes(name) ? undefined : findClosest(name, absent)
    return meant === undefined ? [] : [`The environment has ${name}, which is no setting. Did you mean ${meant}?`]
  })
}
