// The thread that makes messages, so that a template that takes too long can be ended. `renderer.ts` starts it and ends it.
import { parentPort, workerData } from 'node:worker_threads'
import { parseJsonText } from '../../core/json/parse-json.ts'
import { messageOf } from '../../core/thrown.ts'
import { OpenedLetter, type PersonalJob } from './opened-letter.ts'
import { renderDraft } from './render-draft.ts'
import type { DraftJob, DraftResult, Letter, PartsResult, RenderResult } from './render-job.ts'
import { DRAFT_TIME_MAX_MS, RENDER_TIME_MAX_MS } from './render-limits.ts'
import { renderMessage, renderParts } from './render-message.ts'

/** Attributes travel as JSON: a copy would lose exact numbers. */
export interface ThreadJob extends Omit<PersonalJob, 'attributes'> {
  readonly attributes: string
}

export type RenderCommand =
  | { readonly type: 'open'; readonly letterNumber: number; readonly letter: Letter }
  | { readonly type: 'forget'; readonly letterNumber: number }
  | {
      readonly type: 'render'
      readonly number: number
      readonly letterNumber: number
      readonly job: ThreadJob
      readonly wantsParts: boolean
    }
  | {
      readonly type: 'draft'
      readonly number: number
      readonly job: Omit<DraftJob, 'attributes'> & { readonly attributes: string }
    }

export type RenderAnswer =
  | { readonly type: 'rendered'; readonly number: number; readonly result: RenderResult | PartsResult | DraftResult }
  /** Neither the content nor the person's data is to blame. */
  | { readonly type: 'failed'; readonly number: number; readonly message: string }

export interface RenderThreadData {
  /** Two doubles: the number of the job on which the thread works, 0 for none, and until when (`monotonicMs`). */
  readonly progress: SharedArrayBuffer
}

/** Reading a letter: parsing its template, encoding its attachments. */
const OPEN_TIME_MAX_MS = 10_000

const port = parentPort
if (!port) throw new Error('render-thread.ts is started as a thread')
const progress = new Float64Array((workerData as RenderThreadData).progress)
const letters = new Map<number, Letter | OpenedLetter>()

port.on('message', (command: RenderCommand) => {
  if (command.type === 'open') letters.set(command.letterNumber, command.letter)
  else if (command.type === 'forget') letters.delete(command.letterNumber)
  else answer(command)
})

type Work = Extract<RenderCommand, { type: 'render' | 'draft' }>

function answer(command: Work): void {
  const { number } = command
  let reply: RenderAnswer
  try {
    reply = { type: 'rendered', number, result: carryOut(command) }
  } catch (error) {
    reply = { type: 'failed', number, message: messageOf(error) }
  }
  progress[0] = 0
  const raw = reply.type === 'rendered' && 'raw' in reply.result ? [reply.result.raw.buffer as ArrayBuffer] : []
  port?.postMessage(reply, raw)
}

function carryOut(command: Work): RenderResult | PartsResult | DraftResult {
  if (command.type === 'render') return render(command)
  workOn(command.number, DRAFT_TIME_MAX_MS)
  return renderDraft({ ...command.job, attributes: toAttributes(command.job.attributes) })
}

function render({ number, letterNumber, job, wantsParts }: Extract<RenderCommand, { type: 'render' }>) {
  workOn(number, OPEN_TIME_MAX_MS)
  const opened = openLetter(letterNumber)
  workOn(number, RENDER_TIME_MAX_MS)
  return (wantsParts ? renderParts : renderMessage)(opened, { ...job, attributes: toAttributes(job.attributes) })
}

function toAttributes(text: string): PersonalJob['attributes'] {
  return parseJsonText(text) as PersonalJob['attributes']
}

function openLetter(letterNumber: number): OpenedLetter {
  const letter = letters.get(letterNumber)
  if (!letter) throw new Error(`the letter ${letterNumber} was not sent`)
  if (letter instanceof OpenedLetter) return letter
  const opened = new OpenedLetter(letter)
  letters.set(letterNumber, opened)
  return opened
}

function workOn(number: number, timeMs: number): void {
  progress[1] = Number(process.hrtime.bigint()) / 1e6 + timeMs
  progress[0] = number
}
