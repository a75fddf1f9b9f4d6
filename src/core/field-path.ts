// How answers name a field: as a path in the request, such as `actions[2].attributes.amount` ("details.field").

/** The path of a member of the value at `parent`; a member with an empty name could not be seen after a dot. */
export function memberPath(parent: string, name: string): string {
  if (name === '') return `${parent}[""]`
  return parent === '' ? name : `${parent}.${name}`
}
