// The colours of code, from the tokens of the dashboard, so that they follow its scheme.
import { HighlightStyle } from '@codemirror/language'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'

export const CODE_COLOURS = HighlightStyle.define([
  { tag: [tags.tagName, tags.keyword], color: 'var(--accent)' },
  { tag: [tags.attributeName, tags.propertyName], color: 'var(--quiet)' },
  { tag: [tags.attributeValue, tags.string, tags.number, tags.unit, tags.color], color: 'var(--good)' },
  { tag: [tags.comment, tags.meta, tags.processingInstruction, tags.angleBracket], color: 'var(--quiet)' },
  { tag: [tags.character, tags.className], color: 'var(--ink)' },
])

export const CODE_THEME = EditorView.theme({
  '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'var(--paper)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { font: 'var(--code)', overflow: 'auto' },
  '.cm-content': { padding: 'var(--s2) 0', caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { color: 'var(--quiet)', backgroundColor: 'var(--sunk)', borderRight: '1px solid var(--line)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-sunk)',
  },
  '.liquid-output, .liquid-output *': { color: 'var(--warn)' },
  '.liquid-tag, .liquid-tag *': { color: 'var(--warn)', fontWeight: '600' },
  '.cm-specialChar': { color: 'var(--bad)' },
  '.cm-tooltip': {
    color: 'var(--ink)',
    backgroundColor: 'var(--paper)',
    border: '1px solid var(--line)',
    borderRadius: 'var(--corner)',
    font: 'var(--note)',
  },
  '.cm-changedLine, .cm-insertedLine': { backgroundColor: 'var(--good-sunk)' },
  '.cm-deletedChunk': { backgroundColor: 'var(--bad-sunk)' },
  '& .cm-changedText, & .cm-deletedText': { background: 'none', fontWeight: '600' },
  '& .cm-deletedLine, & .cm-deletedLine del': { textDecoration: 'none' },
  '& .cm-collapsedLines:before, & .cm-collapsedLines:after': { content: '"…"' },
  '.cm-collapsedLines': { color: 'var(--quiet)', background: 'var(--sunk)' },
})
