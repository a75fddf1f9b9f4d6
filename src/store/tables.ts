// The columns of every table, for Kysely. Each table's own file adds its member here (`declare module`), so that a table
// is named by exactly one file.

export interface Tables {
  /** Written by `migrations.ts`. */
  migrations: { name: string; applied_at: number }
}
