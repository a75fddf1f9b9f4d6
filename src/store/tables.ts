// The columns of every table, for Kysely. The file of each table adds its member with `declare module`; no other file names the
// table.

export interface Tables {
  /** Written by `migrations.ts`. */
  migrations: { name: string; applied_at: number }
}
