// The thread that makes messages: templates that take too long or grow too large fail alone.
import type { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { OpenedLetter } from '../../../src/delivery/content/opened-letter.ts'
import { renderMessage } from '../../../src/delivery/content/render-message.ts'
import { TOO_SLOW } from '../../../src/delivery/content/render-limits.ts'
import { Renderer } from '../../../src/delivery/content/renderer.ts'
import { renderPreview } from '../../../src/delivery/content/render-preview.ts'
import { until } from '../../support/server.ts'
import { jobOf, letterOf, SENDER } from '../../support/delivery/letters.ts'

const renderers: Renderer[] = []

function startRenderer(): Renderer {
  const renderer = new Renderer()
  renderers.push(renderer)
  return renderer
}

afterEach(async () => {
  await Promise.all(renderers.splice(0).map((renderer) => renderer.close()))
})

/** Sorts a long list again and again within one output, where Liquid's own time limit does not look. */
const SLOW = `{% assign a = "${'x,'.repeat(2_000)}" | split: "," %}{{ a ${'| concat: a '.repeat(7)}${'| sort | reverse '.repeat(20_000)}| size }}`

/** The same, for a tenth of a second: longer than the renderer looks away, and on a busy machine far below the limit. */
const SLOWISH = SLOW.replace('| sort | reverse '.repeat(20_000), '| sort | reverse '.repeat(50))

/** The threads that are started meanwhile. */
function watchThreads(): Worker[] {
  const threads: Worker[] = []
  const add = (worker: Worker) => threads.push(worker)
  process.on('worker', add)
  onTestFinished(() => void process.off('worker', add))
  return threads
}

const TOO_LONG = { isOk: false, problem: 'The message is longer than 1 MiB.', missing: [] }

/** On this thread, where no load of the machine makes it late. */
describe('the size of a message', () => {
  it.each([
    ['output', '{{ a }}', { a: 'x'.repeat(1024 * 1024 + 1) }],
    ['a loop', `{% for i in (1..2000) %}${'x'.repeat(1_000)}{% endfor %}`, {}],
    ['escaped characters', '{{ a }}', { a: '<'.repeat(300_000) }],
    ['characters of several bytes', '{{ a }}', { a: 'ü'.repeat(600_000) }],
  ])('is at most 1 MiB: %s', (_case, html, attributes) => {
    const letter = letterOf(html)
    expect(renderMessage(new OpenedLetter(letter), jobOf(letter, { attributes }))).toEqual(TOO_LONG)
  })

  it('may be almost 1 MiB', () => {
    const letter = letterOf('{{ a }}')
    const job = jobOf(letter, { attributes: { a: 'x'.repeat(1024 * 1024 - 1_000) } })
    expect(renderMessage(new OpenedLetter(letter), job).isOk).toBe(true)
  })
})

describe('the renderer', () => {
  it('makes messages in order of their jobs, each with its own values', async () => {
    const renderer = startRenderer()
    const letter = letterOf('x', { text: { subject: 'Hi {{ n }}' } })
    const jobs = Array.from({ length: 50 }, (_, n) => jobOf(letter, { attributes: { n } }))
    const results = await Promise.all(jobs.map((job) => renderer.renderParts(job)))
    expect(results.map((result) => result.isOk && result.subject)).toEqual(jobs.map((_, n) => `Hi ${n}`))
  })

  it('ends the thread after a second: that message fails the second time, and the others are made', async () => {
    const renderer = startRenderer()
    const [slow, fast] = [letterOf(SLOW), letterOf('fast')]
    const jobs = [fast, slow, fast, fast].map((letter) => jobOf(letter))
    const results = await Promise.all(jobs.map((job) => renderer.render(job)))
    expect(results.map(({ isOk }) => isOk)).toEqual([true, false, true, true])
    expect(results[1]).toEqual({
      isOk: false,
      problem: 'Rendering the message took longer than 1 second.',
      missing: [],
    })
  }, 60_000)

  it('ends the thread after a second, also if it was idle before', async () => {
    const renderer = startRenderer()
    await renderer.render(jobOf(letterOf('fast')))
    expect(await renderer.render(jobOf(letterOf(SLOW)))).toMatchObject({ isOk: false, problem: TOO_SLOW })
  }, 60_000)

  it('makes a message once more that was late because the machine stood still', async () => {
    const threads = watchThreads()
    const renderer = startRenderer()
    const letter = letterOf(SLOWISH)
    const hour = 3_600_000_000_000n
    const read = process.hrtime.bigint.bind(process.hrtime)
    const clock = vi.spyOn(process.hrtime, 'bigint')
    // Stands still for an hour while the first thread works.
    clock.mockImplementation(() => read() + (threads.length === 1 ? hour : 0n))
    onTestFinished(() => clock.mockRestore())
    const results = await Promise.all([1, 2, 3].map(() => renderer.render(jobOf(letter))))
    expect(results.map(({ isOk }) => isOk)).toEqual([true, true, true])
    expect(threads).toHaveLength(2)
  }, 60_000)

  it('makes a message once more whose thread ended', async () => {
    const threads = watchThreads()
    const renderer = startRenderer()
    await renderer.render(jobOf(letterOf('x')))
    const [thread] = threads as [Worker]
    const before = thread.performance.eventLoopUtilization()
    const letter = letterOf(SLOWISH)
    const made = Promise.all([1, 2, 3].map(() => renderer.render(jobOf(letter))))
    await until('the thread works', () => thread.performance.eventLoopUtilization(before).active > 20)
    await thread.terminate()
    expect((await made).map(({ isOk }) => isOk)).toEqual([true, true, true])
    expect(threads).toHaveLength(2)
  }, 60_000)

  it('fails a message of more than 1 MiB', async () => {
    const letter = letterOf('{{ a }}')
    const result = await startRenderer().render(jobOf(letter, { attributes: { a: 'x'.repeat(1024 * 1024 + 1) } }))
    expect(result).toEqual(TOO_LONG)
  })

  it('rejects where neither the content nor the person is to blame', async () => {
    const letter = letterOf('x', {
      sender: { ...SENDER, dkim: { domain: 'a.example', selector: 's', privateKey: 'no key' } },
    })
    await expect(startRenderer().render(jobOf(letter))).rejects.toThrow(/DECODER|unsupported|PEM/)
  })

  it('rejects what was not made when it is closed', async () => {
    const renderer = startRenderer()
    const made = renderer.render(jobOf(letterOf('x')))
    await Promise.all([expect(made).rejects.toThrow('closed'), renderer.close()])
    await expect(renderer.render(jobOf(letterOf('x')))).rejects.toThrow('closed')
  })
})

describe('a preview', () => {
  const wouldSend = { wouldSend: true } as const

  it('takes no coupon, and its links belong to nobody', async () => {
    const letter = letterOf('<p>{{Coupons.CouponListName[A]}}</p>')
    const preview = await renderPreview(startRenderer(), jobOf(letter), wouldSend)
    expect(preview).toMatchObject({ wouldSend: true, subject: 'News' })
    expect(preview.html).toContain('<p>TEST-CODE</p>')
    expect(preview.text).toContain('TEST-CODE')
  })

  it('says why a message cannot be made, unless another reason comes first', async () => {
    const job = jobOf(letterOf('{{ a }}'))
    const renderer = startRenderer()
    expect(await renderPreview(renderer, job, wouldSend)).toMatchObject({
      wouldSend: false,
      reason: 'user_removed_due_to_personalization_failed',
      problem: 'No value for a.',
    })
    const held = { wouldSend: false, reason: 'user_removed_due_to_opt_out' } as const
    expect(await renderPreview(renderer, job, held)).toMatchObject(held)
  })
})
