// Writes the scripts by which bash, zsh and fish complete the command line. Where there are no choices, they complete file names.
import type { CompletionRule, OptionRule } from './completion-rules.ts'

export interface CompletionScript {
  readonly rules: readonly CompletionRule[]
  readonly options: readonly OptionRule[]
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export function writeCompletion(shell: Shell, script: CompletionScript): string {
  return WRITERS[shell](script)
}

const WRITERS: Readonly<Record<Shell, (script: CompletionScript) => string>> = {
  bash: (script) => `# Completes tidings in bash.
_tidings() {
${choose(script, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}
  local current=\${COMP_WORDS[COMP_CWORD]}
  case $current in -*) choices=$options ;; esac
  COMPREPLY=($(compgen -W "$choices" -- "$current"))
}
complete -o default -F _tidings tidings
`,
  zsh: (script) => `#compdef tidings
# Completes tidings in zsh.
_tidings() {
${choose(script, '"${(@)words[2,CURRENT-1]}"')}
  case $PREFIX in -*) choices=$options ;; esac
  if [[ -n $choices ]]; then compadd -- \${=choices}; else _files; fi
}
if [[ $funcstack[1] == _tidings ]]; then _tidings "$@"; else compdef _tidings tidings; fi
`,
  fish: ({ rules, options }) => `# Completes tidings in fish.
function __tidings_complete
  set -l line
  set -l previous
  # A range from 2 to the end would return the only word if there is one.
  set -l words (commandline -opc)
  set -e words[1]
  for word in $words
    switch "$previous"
      case ${namesOf(options).join(' ')}
        set previous
        continue
    end
    set previous $word
    string match -q -- '-*' $word; or set -a line $word
  end
  set -l choices
  set -l options
  switch " $line $previous"
${options.map(({ words, option, choices }) => `    case ' ${words.join(' ')} *${option}'\n      set choices ${choices.join(' ')}`).join('\n')}
    case '*'
      switch (string trim (count $line)": $line")
${rules.map(toFishCase).join('\n')}
      end
  end
  string match -q -- '-*' (commandline -ct); and set choices $options
  if test (count $choices) -gt 0
    printf '%s\\n' $choices
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c tidings -f -a '(__tidings_complete)'
`,
}

/** For bash and zsh: sets `choices` and `options` by the words before the cursor. */
function choose({ rules, options }: CompletionScript, words: string): string {
  return `  local word previous='' line='' count=0 choices='' options=''
  for word in ${words}; do
    case $previous in ${namesOf(options).join('|')})
      previous=''
      continue
    esac
    previous=$word
    case $word in '' | -*) ;; *) line="$line $word" count=$((count + 1)) ;; esac
  done
  case "$line $previous" in
${options.map(({ words, option, choices }) => `    ' ${words.join(' ')} '*'${option}') choices='${choices.join(' ')}' ;;`).join('\n')}
    *)
      case "$count:$line" in
${rules.map(toShCase).join('\n')}
      esac
      ;;
  esac`
}

function namesOf(options: readonly OptionRule[]): string[] {
  return [...new Set(options.map(({ option }) => option))]
}

function toShCase({ words, isOpenEnded, choices, options }: CompletionRule): string {
  const line = [':', ...words].join(' ').trim()
  const pattern = isOpenEnded
    ? `*'${line}' | *'${line} '*`
    : `'${words.length}${line}'`.replaceAll('*', "'*'").replace("''", '')
  return `        ${pattern}) choices='${choices.join(' ')}' options='${options.join(' ')}' ;;`
}

function toFishCase({ words, isOpenEnded, choices, options }: CompletionRule): string {
  const line = [':', ...words].join(' ').trim()
  const patterns = isOpenEnded ? `'*${line}' '*${line} *'` : `'${words.length}${line}'`
  return [
    `        case ${patterns}`,
    `          set choices ${choices.join(' ')}`,
    `          set options ${options.join(' ')}`,
  ].join('\n')
}
