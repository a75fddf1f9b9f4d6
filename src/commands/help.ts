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
  const [first = '', ...rest] = wrapUsage(usageOf(command))
  const lines = [`Usage: tidings ${first.trim()}`, ...rest, '', command.summary]
  if (command.details !== undefined) lines.push('', command.details)
  return [...lines, '', ...toColumns([...own, ...Object.entries(SHARED_OPTIONS)]), ''].join('\n')
}

/** The left column is so wide at the most: what is longer stands above its right side. */
const LEFT_WIDTH_MAX = 48
const LINE_WIDTH_MAX = 120

function toColumns(rows: readonly Row[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length).filter((length) => length <= LEFT_WIDTH_MAX), 0)
  return rows.flatMap(([left, right]) => {
    if (left.length <= width) return [`  ${left.padEnd(width)}  ${right}`]
    return [...wrapUsage(left), `  ${' '.repeat(width)}  ${right}`]
  })
}

/** Lines that break before options; all but the first stand a little to the right. */
function wrapUsage(usage: string): string[] {
  const lines: string[] = []
  for (const part of usage.split(/ (?=\[|--)/)) {
    const line = lines.at(-1)
    if (line !== undefined && line.length + 1 + part.length <= LINE_WIDTH_MAX)
      lines[lines.length - 1] = `${line} ${part}`
    else lines.push((lines.length === 0 ? '  ' : '      ') + part)
  }
  return lines
}
