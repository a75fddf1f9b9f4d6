// Recognises the header of a file of coupon codes. A word that is no known header, such as SUMMER, is a code.

/** Without the signs between words. */
const KNOWN = /^(?:(?:coupon|voucher|promo|promotion|promotional|discount|gift|giftcard)?codes?|coupons?|vouchers?)$/
const BETWEEN_WORDS = /[ _-]+/g

/** Whether the first line of a file is a header: one of the known names, in any case, in the singular or the plural. */
export function isCouponHeader(line: string): boolean {
  return KNOWN.test(line.replaceAll(BETWEEN_WORDS, '').toLowerCase())
}
