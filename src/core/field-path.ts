// Paths of fields in a request, as responses name them, such as `actions[2].attributes.amount` ("details.field").

/** The path of a member of the value at `parent`. An empty name is written `[""]`, because it is invisible after a dot. */
export function memberPath(parent: string, name: string): string {
  if (name === '') return `${parent}[""]`
  return parent === '' ? name : `${parent}.${name}`
}
