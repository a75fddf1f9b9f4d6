// Sends test messages of a campaign now: marked in the subject, in no statistics, and without anything of a person's but attributes.
import type { SmtpReply } from '../../core/delivery/failures.ts'
import type { Store } from '../../store/store.ts'
import { withoutPerson } from '../content/render-preview.ts'
import type { RenderJob } from '../content/render-job.ts'
import type { Renderer } from '../content/renderer.ts'
import { toSmtpSettings } from '../senders/smtp-settings.ts'
import { SmtpFailure } from '../smtp/smtp-failure.ts'
import { openSmtpSession, type SmtpSession, type SmtpSettings } from '../smtp/smtp-session.ts'
import type { PlacedPerson } from './placed-person.ts'
import { openLetter, type PreviewedCampaign, type PreviewSurroundings } from './previewed-campaign.ts'

/** Shorter than for a campaign: somebody waits for the answer. */
const TIMEOUTS = { connectMs: 5_000, greetingMs: 5_000, socketMs: 10_000, exchangeMs: 15_000, quitMs: 1_000 }
/** After this time no further message is begun. */
const TESTS_TIME_MAX_MS = 45_000
const TOO_LATE = 'Not tried: the messages before it took too long.'

export interface TestResult {
  readonly to: string
  readonly result: 'sent' | 'failed'
  /** The reply of the server, or why it was not asked. */
  readonly reply: string
}

export interface TestOptions extends PreviewSurroundings {
  readonly to: readonly string[]
  /** Whose attributes fill the template; undefined: nobody's. */
  readonly person: PlacedPerson | undefined
  readonly now: number
  readonly renderer: Renderer
}

/** Each address with its result. Throws as `openLetter` does, and SecretUnreadable. */
export async function sendTests(
  store: Store,
  previewed: PreviewedCampaign,
  { to, person, now, renderer, ...surroundings }: TestOptions,
): Promise<TestResult[]> {
  const pinned = person?.template ?? previewed.variations[0]?.template
  if (!pinned) throw new Error('the campaign has no variation')
  const post = new TestPost(toSmtpSettings(previewed.sender, surroundings.secretVault), renderer)
  const letter = await openLetter(store, previewed, { ...surroundings, pinned, withFiles: true })
  const { customerId = 'test', attributes = {}, locale = null } = person ?? {}
  const basis = { letter, customerId, attributes, locale, allowsTracking: false, date: now, isTest: true }
  const results: TestResult[] = []
  try {
    for (const address of to) results.push(await post.send(withoutPerson({ ...basis, to: address })))
  } finally {
    await post.end()
  }
  return results
}

/** Sends one message after the other, over one connection while the server keeps it. */
class TestPost {
  readonly #settings: SmtpSettings
  readonly #renderer: Renderer
  readonly #lateAt = performance.now() + TESTS_TIME_MAX_MS
  #session: SmtpSession | undefined

  constructor(settings: SmtpSettings, renderer: Renderer) {
    this.#settings = { ...settings, timeouts: TIMEOUTS }
    this.#renderer = renderer
  }

  async send(job: RenderJob): Promise<TestResult> {
    const { to } = job
    if (performance.now() > this.#lateAt) return { to, result: 'failed', reply: TOO_LATE }
    const made = await this.#renderer.render(job)
    if (!made.isOk) return { to, result: 'failed', reply: made.problem }
    try {
      if (!this.#session?.isUsable) this.#session = await openSmtpSession(this.#settings)
      const { envelopeFrom: from, envelopeTo, raw, usesUtf8 } = made
      const mail = { from, to: envelopeTo, raw, usesUtf8 }
      return { to, result: 'sent', reply: textOf(await this.#session.send(mail, { beforeEnd: async () => {} })) }
    } catch (error) {
      if (!(error instanceof SmtpFailure)) throw error
      return { to, result: 'failed', reply: textOf(error.reply) }
    }
  }

  async end(): Promise<void> {
    await this.#session?.quit()
  }
}

function textOf({ code, text }: SmtpReply): string {
  return `${code ?? ''} ${text}`.trim()
}
