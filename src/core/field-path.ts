// How answers name a field: as a path in the request, such as `actions[2].attributes.amount` ("details.field").

/** The path of a member of what stands at `parent`; one whose name is empty could not be seen behind a dot. */
export function memberPath(parent: string, name: string): string {
  if (name === '') return `${parent}[""]`
  return parent === '' ? name : `${parent}.${name}`
}
