// The subject and the text of an alert of a coupon list, in plain words.
import type { AlertNews } from './coupon-alerts.ts'
import type { CouponList } from './coupon-list.ts'

export interface AlertText {
  readonly subject: string
  readonly text: string
}

export function alertText({ name, label }: Pick<CouponList, 'name' | 'label'>, news: AlertNews): AlertText {
  const { subject, details } = wordsOf(name, news)
  return { subject, text: `${details}\n\nCoupon list: ${name}\nLabel: ${label}\n` }
}

function wordsOf(name: string, news: AlertNews): { readonly subject: string; readonly details: string } {
  switch (news.kind) {
    case 'shortage': {
      const left = `${counted(news.available)} left`
      return {
        subject: `Coupon list ${name} is running short: ${left}`,
        details: `The list has ${left} that nobody has. Add codes before campaigns run out of them.`,
      }
    }
    case 'expiry': {
      const when = daysAhead(news.days)
      return {
        subject: `Coupon list ${name} expires ${when}`,
        details: `The last day of the list is ${news.expiresAt}. After it, no campaign can send its codes.`,
      }
    }
    case 'upload_succeeded': {
      const { added, duplicates } = news
      const also = duplicates === 0 ? '' : ` ${counted(duplicates)} had been in the list already, or came twice.`
      return {
        subject: `Coupon list ${name}: ${counted(added)} added`,
        details: `An upload added ${counted(added)}.${also}`,
      }
    }
    case 'upload_failed':
      return { subject: `Coupon list ${name}: an upload failed`, details: `No codes were added. ${news.problem}` }
  }
}

function counted(codes: number): string {
  return codes === 1 ? '1 code' : `${codes} codes`
}

function daysAhead(days: number): string {
  if (days === 0) return 'today'
  return days === 1 ? 'tomorrow' : `in ${days} days`
}
