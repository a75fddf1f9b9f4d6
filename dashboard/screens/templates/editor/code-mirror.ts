// The editor of HTML with Liquid: CodeMirror, in a shadow root, where its styles need no `style` element. What it returns is exactly what
// was typed or pasted: the line ends of a text stay as they are.
import { defaultKeymap, history, historyKeymap, insertTab, indentLess } from '@codemirror/commands'
import { html } from '@codemirror/lang-html'
import { syntaxHighlighting } from '@codemirror/language'
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { unifiedMergeView } from '@codemirror/merge'
import { Compartment, EditorState, Prec, Text, type Extension } from '@codemirror/state'
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  MatchDecorator,
  ViewPlugin,
  type DecorationSet,
  type ViewUpdate,
} from '@codemirror/view'
import { CODE_COLOURS, CODE_THEME } from './code-theme.ts'

/** A place that is wrong, as the server names it: from 1, columns in UTF-16 code units. */
export interface CodeFault {
  readonly line: number
  readonly column: number
  readonly isWarning: boolean
  readonly problem: string
}

interface CodeOptions {
  readonly root: ShadowRoot
  readonly text: string
  /** Its name for readers of the screen. */
  readonly label: string
  /** Undefined: it only shows the text. */
  readonly onChange: ((text: string) => void) | undefined
  /** Shows what differs from this text. */
  readonly original?: string
}

export class CodeView {
  readonly #view: EditorView
  readonly #separator = new Compartment()

  constructor({ root, text, label, onChange, original }: CodeOptions) {
    const separator = separatorOf(text)
    const state = EditorState.create({
      doc: toLines(text, separator),
      extensions: [
        this.#separator.of(EditorState.lineSeparator.of(separator)),
        // What scrolls can be reached by the keyboard, also where nothing can be written.
        EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
        onChange ? this.#editing(onChange) : [EditorState.readOnly.of(true)],
        original === undefined ? [] : differences(original),
        LOOK,
      ],
    })
    this.#view = new EditorView({ state, root, parent: root })
  }

  get text(): string {
    return this.#view.state.sliceDoc()
  }

  set text(text: string) {
    if (text !== this.text) this.#replaceAll(text)
  }

  set faults(faults: readonly CodeFault[]) {
    const { state } = this.#view
    this.#view.dispatch(
      setDiagnostics(
        state,
        faults.map((fault) => toDiagnostic(state, fault)),
      ),
    )
  }

  /** Puts the cursor there and shows it. */
  goTo(fault: CodeFault): void {
    const { from, to } = toDiagnostic(this.#view.state, fault)
    this.#view.dispatch({
      selection: { anchor: from, head: to },
      effects: EditorView.scrollIntoView(from, { y: 'center' }),
    })
    this.#view.focus()
  }

  close(): void {
    this.#view.destroy()
  }

  #editing(onChange: (text: string) => void): Extension {
    return [
      history(),
      EditorView.updateListener.of(({ docChanged, state }) => docChanged && onChange(state.sliceDoc())),
      // The first text that is pasted decides how lines end; what is pasted into it later follows.
      EditorView.domEventHandlers({
        paste: (event, { state }) => {
          const pasted = event.clipboardData?.getData('text/plain') ?? ''
          if (state.doc.length > 0 || pasted === '') return false
          event.preventDefault()
          this.#replaceAll(pasted)
          return true
        },
      }),
      EditorView.clipboardInputFilter.of((text, { lineBreak }) => text.replaceAll(/\r\n?|\n/g, lineBreak)),
      Prec.high(keymap.of(OWN_KEYS)),
      keymap.of([...defaultKeymap, ...historyKeymap]),
    ]
  }

  #replaceAll(text: string): void {
    const separator = separatorOf(text)
    const insert = toLines(text, separator)
    this.#view.dispatch({
      changes: { from: 0, to: this.#view.state.doc.length, insert },
      selection: { anchor: 0 },
      effects: this.#separator.reconfigure(EditorState.lineSeparator.of(separator)),
    })
  }
}

/** The form saves on Ctrl Enter. Escape, then Tab leaves the editor. */
const OWN_KEYS = [
  { key: 'Mod-Enter', run: () => true },
  { key: 'Tab', run: insertTab, shift: indentLess },
]

/** With mixed line ends, a line ends with a line feed, and carriage returns are characters that one sees. */
function separatorOf(text: string): string {
  return /\r\n/.test(text) && !/\r(?!\n)|(?<!\r)\n/.test(text) ? '\r\n' : '\n'
}

function toLines(text: string, separator: string): Text {
  return Text.of(text.split(separator))
}

/** Lines are the same however they end. */
function differences(original: string): Extension {
  return unifiedMergeView({
    original: toLines(original, separatorOf(original)),
    mergeControls: false,
    collapseUnchanged: { margin: 3, minSize: 6 },
    diffConfig: { scanLimit: 1000, timeout: 500 },
  })
}

/** From the place of a fault to the end of the tag, output or word that stands there. */
const AT_FAULT = /\{\{.*?(?:\}\}|$)|\{%.*?(?:%\}|$)|<[^>]*>?|\S+/y

function toDiagnostic({ doc }: EditorState, { line: number, column, isWarning, problem }: CodeFault): Diagnostic {
  const line = doc.line(Math.min(number, doc.lines))
  const from = Math.min(line.from + column - 1, line.to)
  AT_FAULT.lastIndex = from - line.from
  const length = AT_FAULT.exec(line.text)?.[0].length ?? 0
  return { from, to: Math.min(from + length, line.to), severity: isWarning ? 'warning' : 'error', message: problem }
}

const liquid = new MatchDecorator({
  regexp: /\{\{.*?\}\}|\{%.*?%\}/g,
  decoration: ([text]) => Decoration.mark({ class: text.startsWith('{{') ? 'liquid-output' : 'liquid-tag' }),
})

const liquidColours = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet

    constructor(view: EditorView) {
      this.decorations = liquid.createDeco(view)
    }

    update(update: ViewUpdate): void {
      this.decorations = liquid.updateDeco(update, this.decorations)
    }
  },
  { decorations: ({ decorations }) => decorations },
)

const LOOK: Extension = [
  lineNumbers(),
  lintGutter(),
  drawSelection(),
  highlightSpecialChars({ addSpecialChars: /\r/ }),
  EditorView.lineWrapping,
  html({ autoCloseTags: false }),
  syntaxHighlighting(CODE_COLOURS),
  liquidColours,
  CODE_THEME,
]
