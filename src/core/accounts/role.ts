// The roles of people. A person has one in each workspace.

export const ROLES = ['owner', 'developer', 'marketer', 'analyst'] as const
export type Role = (typeof ROLES)[number]

export function toRole(text: string): Role | undefined {
  return ROLES.find((role) => role === text)
}
