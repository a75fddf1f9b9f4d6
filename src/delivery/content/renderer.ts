// Makes messages on a thread of its own, and ends the thread when a template takes too long or too much memory. A new thread makes that
// message once more, alone, because a busy or stopped machine, or other messages, may be to blame; then it fails. The others follow.
import { Worker } from 'node:worker_threads'
import { startWithRoom } from '../../runtime/start-with-room.ts'
import type { DraftJob, DraftResult, Letter, PartsResult, RenderJob, RenderResult } from './render-job.ts'
import { RENDER_TIME_MAX_MS, TOO_SLOW } from './render-limits.ts'
import type { RenderAnswer, RenderCommand, RenderThreadData } from './render-thread.ts'

/** Jobs that wait here. The caller claims blocks of about a second of work. */
const WAITING_MAX = 20_000
/** Jobs that the thread has, so that it need not wait for the next one. */
const ON_THREAD_MAX = 8
/** Letters that the thread keeps. */
const LETTERS_MAX = 64
const LETTERS_BYTES_MAX = 64 * 1024 * 1024
/** How often the renderer looks whether the thread is late. */
const WATCH_MS = RENDER_TIME_MAX_MS / 20
const HEAP_MIB = 512
/** The name of the threads that renderers start, and may end at any time. */
export const RENDER_THREAD = 'render'
const TOO_MUCH_MEMORY = 'Rendering the message took too much memory.'

type AnyResult = RenderResult | PartsResult | DraftResult

type Task =
  | { readonly type: 'render'; readonly job: RenderJob; readonly wantsParts: boolean }
  | { readonly type: 'draft'; readonly job: DraftJob }

interface Pending {
  readonly number: number
  readonly task: Task
  readonly resolve: (result: AnyResult) => void
  readonly reject: (error: Error) => void
  /** Whether it is made for the second time, alone. */
  isRepeated: boolean
}

export class Renderer {
  /** In the order of their numbers. */
  readonly #pending = new Map<number, Pending>()
  readonly #waiting: Pending[] = []
  #onThread = 0
  #lastNumber = 0
  /** The message that is made for the second time; nothing else is on the thread then. */
  #repeated: Pending | undefined
  #thread: RenderThread | undefined
  #watch: NodeJS.Timeout | undefined
  #isClosed = false

  /** Makes a message. Rejects if the letter cannot be used, such as for a DKIM key that cannot be read, and after `close`. */
  render(job: RenderJob): Promise<RenderResult> {
    return this.#add({ type: 'render', job, wantsParts: false }) as Promise<RenderResult>
  }

  /** The same message in parts, for people to look at. */
  renderParts(job: RenderJob): Promise<PartsResult> {
    return this.#add({ type: 'render', job, wantsParts: true }) as Promise<PartsResult>
  }

  /** A template that is being written: what can be rendered of it, and where it has faults. */
  renderDraft(job: DraftJob): Promise<DraftResult> {
    return this.#add({ type: 'draft', job }) as Promise<DraftResult>
  }

  /** Ends the thread. What was not made is rejected. */
  async close(): Promise<void> {
    this.#isClosed = true
    const thread = this.#thread
    this.#rejectAll(new Error('the renderer was closed'))
    await thread?.end()
  }

  #add(task: Task): Promise<AnyResult> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw new Error('the renderer was closed')
      if (this.#pending.size >= WAITING_MAX) throw new Error(`more than ${WAITING_MAX} messages wait to be rendered`)
      const pending = { number: ++this.#lastNumber, task, resolve, reject, isRepeated: false }
      this.#pending.set(pending.number, pending)
      this.#waiting.push(pending)
      this.#fill()
    })
  }

  #fill(): void {
    while (this.#onThread < ON_THREAD_MAX && !this.#repeated) {
      const next = this.#waiting.shift()
      if (!next) return
      if (next.isRepeated) this.#repeated = next
      this.#thread ??= this.#start()
      // A thread that was idle is not watched any more.
      this.#watch ??= setInterval(() => this.#endLateThread(), WATCH_MS)
      this.#thread.send(next)
      this.#onThread++
    }
  }

  #start(): RenderThread {
    const thread: RenderThread = new RenderThread(
      (answer) => this.#settle(thread, answer),
      (error) => this.#replace(thread, error),
    )
    return thread
  }

  #settle(thread: RenderThread, answer: RenderAnswer): void {
    if (thread !== this.#thread) return
    const pending = this.#pending.get(answer.number)
    // Liquid looks at the clock too.
    if (pending && !pending.isRepeated && isTooSlow(answer)) return this.#repeat(pending)
    this.#pending.delete(answer.number)
    this.#onThread--
    if (pending === this.#repeated) this.#repeated = undefined
    this.#fill()
    this.#restIfIdle()
    if (answer.type === 'rendered') pending?.resolve(answer.result)
    else pending?.reject(new Error(answer.message))
  }

  #endLateThread(): void {
    const thread = this.#thread
    const late = thread?.lateWork()
    if (!thread || late === undefined) return
    this.#repeatOrFail(late, TOO_SLOW)
  }

  /** Called when a thread ended by itself. */
  #replace(thread: RenderThread, error: Error): void {
    if (thread !== this.#thread) return
    const work = thread.work()
    if (work === undefined) this.#rejectAll(error)
    else this.#repeatOrFail(work, TOO_MUCH_MEMORY)
  }

  #repeatOrFail(number: number, problem: string): void {
    const pending = this.#pending.get(number)
    if (pending && !pending.isRepeated) return this.#repeat(pending)
    this.#pending.delete(number)
    this.#startAnew()
    pending?.resolve({ isOk: false, problem, missing: [] })
  }

  #repeat(pending: Pending): void {
    pending.isRepeated = true
    this.#startAnew(pending)
  }

  /** Ends the thread; a new one makes `first`, and then what this one had and what waits. */
  #startAnew(first?: Pending): void {
    void this.#thread?.end()
    this.#thread = undefined
    this.#onThread = 0
    this.#repeated = undefined
    const others = [...this.#pending.values()].filter((pending) => pending !== first)
    this.#waiting.splice(0, this.#waiting.length, ...(first ? [first] : []), ...others)
    this.#fill()
    this.#restIfIdle()
  }

  #rejectAll(error: Error): void {
    const all = [...this.#pending.values()]
    this.#pending.clear()
    this.#waiting.length = 0
    this.#onThread = 0
    this.#repeated = undefined
    this.#thread = undefined
    this.#restIfIdle()
    for (const { reject } of all) reject(error)
  }

  #restIfIdle(): void {
    if (this.#pending.size > 0) return
    clearInterval(this.#watch)
    this.#watch = undefined
  }
}

function isTooSlow(answer: RenderAnswer): boolean {
  if (answer.type !== 'rendered') return false
  const { result } = answer
  if (!result.isOk) return result.problem === TOO_SLOW
  return 'faults' in result && result.faults.some(({ problem }) => problem === TOO_SLOW)
}

/** One thread, and the letters that it has. */
class RenderThread {
  readonly #worker: Worker
  readonly #progress: Float64Array
  /** Those that were used last stand last. */
  readonly #letters = new Map<Letter, { readonly number: number; readonly bytes: number }>()
  #letterBytes = 0
  #lastLetter = 0

  constructor(onAnswer: (answer: RenderAnswer) => void, onEnd: (error: Error) => void) {
    const workerData: RenderThreadData = { progress: new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT) }
    this.#progress = new Float64Array(workerData.progress)
    const file = new URL('./render-thread.ts', import.meta.url)
    const resourceLimits = { maxOldGenerationSizeMb: HEAP_MIB }
    this.#worker = startWithRoom(() => new Worker(file, { name: RENDER_THREAD, workerData, resourceLimits }))
    this.#worker.on('message', onAnswer)
    this.#worker.on('error', (error) => onEnd(error instanceof Error ? error : new Error(String(error))))
    this.#worker.on('exit', () => onEnd(new Error('the thread that renders messages ended')))
  }

  send({ number, task }: Pending): void {
    const attributes = JSON.stringify(task.job.attributes)
    if (task.type === 'draft') return this.#post({ type: 'draft', number, job: { ...task.job, attributes } })
    const { letter, ...job } = task.job
    const letterNumber = this.#numberOf(letter)
    this.#post({ type: 'render', number, letterNumber, job: { ...job, attributes }, wantsParts: task.wantsParts })
  }

  /** The number of the job on which it works. */
  work(): number | undefined {
    return this.#progress[0] || undefined
  }

  /** The same if the job takes longer than it may. */
  lateWork(): number | undefined {
    const work = this.work()
    const isLate = Number(process.hrtime.bigint()) / 1e6 > (this.#progress[1] ?? 0)
    return isLate && work === this.work() ? work : undefined
  }

  async end(): Promise<void> {
    await this.#worker.terminate()
  }

  #numberOf(letter: Letter): number {
    const known = this.#letters.get(letter)
    if (known) {
      this.#letters.delete(letter)
      this.#letters.set(letter, known)
      return known.number
    }
    const number = ++this.#lastLetter
    const bytes = sizeOf(letter)
    this.#letters.set(letter, { number, bytes })
    this.#letterBytes += bytes
    this.#post({ type: 'open', letterNumber: number, letter })
    this.#forgetOldest()
    return number
  }

  #forgetOldest(): void {
    for (const [letter, { number, bytes }] of this.#letters) {
      const isFull = this.#letters.size > LETTERS_MAX || this.#letterBytes > LETTERS_BYTES_MAX
      if (!isFull || this.#letters.size === 1) return
      this.#letters.delete(letter)
      this.#letterBytes -= bytes
      this.#post({ type: 'forget', letterNumber: number })
    }
  }

  #post(command: RenderCommand): void {
    this.#worker.postMessage(command)
  }
}

function sizeOf({ template, attachments }: Letter): number {
  return attachments.reduce((bytes, { content }) => bytes + content.byteLength, template.html.length)
}
