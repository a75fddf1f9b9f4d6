// Checks the scripts of `completion` in the shells for which they are written.
import { execFileSync, spawnSync } from 'node:child_process'
import { beforeAll, describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/commands/commands.ts'
import { SHELLS } from '../../src/commands/completion/completion-scripts.ts'
import { run, runJson } from '../support/program.ts'

/** Sources the script from standard input, and prints what completes the words of its arguments. */
const DRIVERS = {
  bash: 'eval "$(cat)"; COMP_WORDS=(tidings "$@"); COMP_CWORD=$#; _tidings; printf "%s\\n" "${COMPREPLY[@]}"',
  zsh: [
    'compdef() { :; }; compadd() { shift; print -rl -- ${(M)@:#$PREFIX*}; }; _files() { :; }',
    'eval "$(cat)"; words=(tidings "$@"); CURRENT=$#words; PREFIX=$words[-1]; _tidings',
  ].join('; '),
  // fish reads arguments as files.
  fish: `cat | source; complete --do-complete "$LINE" | string replace -r '\\t.*' ''; true`,
} as const

const FAMILIES = [...new Set(COMMANDS.map(({ name }) => name.split(' ')[0] ?? ''))]
const OF_ALL = ['--json', '--help', '--version']

const lines: [typed: string[], completed: string[]][] = [
  [[''], FAMILIES],
  [['wor'], ['workspace']],
  [['--v'], ['--version']],
  [
    ['workspace', ''],
    ['create', 'list', 'show', 'set'],
  ],
  [
    ['workspace', 'create', 'shop', '--'],
    ['--name', '--timezone', ...OF_ALL],
  ],
  [['workspace', 'create', '--name', 'The Shop', 'shop', '--tim'], ['--timezone']],
  [
    ['serve', '--role', ''],
    ['http', 'pipeline', 'delivery'],
  ],
  [
    ['person', 'invite', 'ada@example.com', '--role', ''],
    ['owner', 'developer', 'marketer', 'analyst'],
  ],
  [['person', 'invite', '--role', 'owner', '--work'], ['--workspace']],
  [['--json', 'key', 'gen'], ['generate']],
  [
    ['key', 'generate', 'main', ''],
    ['data', 'reports'],
  ],
  [['key', 'generate', 'main', 'data', '--y'], ['--yes']],
  [['key', 'generate', 'main', 'data', '--k'], ['--keep-old']],
  [['completion', ''], [...SHELLS]],
]

describe.each(SHELLS)('completion in %s', (shell) => {
  let script: string
  beforeAll(async () => void (script = (await run(['completion', shell])).stdout))

  it.for(lines)('of %j', ([typed, completed], { skip }) => {
    skip(spawnSync(shell, ['-c', 'true']).error !== undefined, `${shell} is not installed`)
    const args = ['-c', DRIVERS[shell], ...(shell === 'fish' ? [] : [shell, ...typed])]
    const line = ['tidings', ...typed].map((word) => (word.includes(' ') ? `'${word}'` : word)).join(' ')
    const env = { ...process.env, LINE: line }
    const output = execFileSync(shell, args, { input: script, env, encoding: 'utf8' })
    expect(output.split('\n').filter(Boolean).toSorted()).toEqual(completed.toSorted())
  })

  it('is in the JSON output too', async () => {
    expect((await runJson(['completion', shell], {})).body).toEqual({ shell, script })
  })

  it('names every command and option', () => {
    for (const { name, options } of COMMANDS) {
      expect(script).toContain(name)
      for (const option of Object.keys(options)) expect(script).toContain(`--${option}`)
    }
  })
})
