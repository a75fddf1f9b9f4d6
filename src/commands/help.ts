// Builds the texts of `--help` from the commands.
import { readVersion } from '../app/version.ts'
import { SHARED_OPTIONS } from './arguments/shared-options.ts'
import { optionUsage, usageOf, type Command } from './command.ts'

type Row = readonly [left: string, right: string]

export function helpOfAll(commands: readonly Command[]): string {
  const rows = commands.map((command): Row => [usageOf(command), command.summary])
  return [
    `Tidings ${readVersion()}, a self-hosted customer-engagement server.`,
    '',
    'Usage: tidings COMMAND',
    '',
    ...toColumns(rows),
    '',
    'Every command accepts --json, --help and --version, and reads its settings from the environment: see README.md.',
    '',
  ].join('\n')
}

export function helpOf(command: Command): string {
  const own = Object.entries(command.options).map(([name, option]): Row => [optionUsage(name, option), option.summary])
  const lines = [`Usage: tidings ${usageOf(command)}`, '', command.summary]
  if (command.details !== undefined) lines.push('', command.details)
  return [...lines, '', ...toColumns([...own, ...Object.entries(SHARED_OPTIONS)]), ''].join('\n')
}

function toColumns(rows: readonly Row[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
