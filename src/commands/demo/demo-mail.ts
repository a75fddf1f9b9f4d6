// A mail of the demo's shop, in each of its languages.
import type { DemoLocale } from './people.ts'

export interface MailWords {
  readonly subject: string
  /** What mail programs show behind the subject. */
  readonly preview: string
  readonly title: string
  readonly text: string
  readonly button: string
}

export interface DemoMail {
  readonly id: string
  readonly name: string
  readonly createdBy: string
  /** The colour of the picture at the top, and what stands in for a picture. */
  readonly colour: string
  readonly path: string
  /** Shows things to buy below the text. */
  readonly hasProducts?: boolean
  /** The label of the coupon list whose code it shows. */
  readonly coupon?: string
  readonly words: Readonly<Record<DemoLocale, MailWords>>
}

type Texts = readonly [subject: string, preview: string, title: string, text: string, button: string]

/** In the order of `DEMO_LOCALES`. */
export function inLocales(en: Texts, de: Texts, fr: Texts, es: Texts): DemoMail['words'] {
  const toWords = ([subject, preview, title, text, button]: Texts) => ({ subject, preview, title, text, button })
  return { en: toWords(en), de: toWords(de), fr: toWords(fr), es: toWords(es) }
}
