// Add coupons: adds codes to a list, from a stream of CSV or from JSON. Adds all of them or none.
import { Type } from 'typebox'
import { AppError, type Fault } from '../../core/app-error.ts'
import { hiddenProblem } from '../../core/bounded-text.ts'
import { CouponCsv, INVALID_CODES_NAMED_MAX } from '../../core/coupons/coupon-csv.ts'
import { couponCodeProblem, toCouponCode } from '../../core/coupons/coupon-list.ts'
import { CouponListPath } from './coupon-list-body.ts'
import { uploadCoupons } from '../../actions/coupon-upload.ts'
import { NoFields, Strict } from '../fields.ts'
import { defineOperation, type Partially } from '../operation.ts'

const UPLOAD_BYTES_MAX = 64 * 1024 * 1024

export const addCoupons = defineOperation({
  name: 'add_coupons',
  summary: 'Add coupons',
  description:
    'Adds codes to an ACTIVE list, all of them or none. An invalid line (400, listing the first hundred) or a broken ' +
    'connection leaves the list unchanged. Send `text/csv` with one code per line, up to 64 MiB, or JSON up to 1 MiB. ' +
    'A header line `Coupon Code` and empty lines are skipped. Codes may be quoted as in RFC 4180; a code with a comma ' +
    'must be. A code has 1 to 128 characters after trimming outer spaces, and no control characters. Codes that the ' +
    'list already has, or that appear twice, are counted as `duplicates`. While an upload to the list is in progress, ' +
    'another one is rejected with 409. An upload that stalls for a minute may be abandoned.',
  group: 'Coupon lists',
  method: 'POST',
  url: '/v1/coupon-list/:coupon_list_id/coupons',
  requires: 'reports',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CouponListPath,
  query: NoFields,
  body: Strict({
    // `codeFaults` checks the codes, and stops after a hundred invalid ones.
    coupons: Type.Array(Type.String(), { minItems: 1, description: 'Codes of 1 to 128 characters.' }),
  }),
  upload: { mediaType: 'text/csv', bytesMax: UPLOAD_BYTES_MAX, example: 'Coupon Code\nSUMMER-7Q2X\nSUMMER-9KDF\n' },
  example: { coupons: ['SUMMER-7Q2X', 'SUMMER-9KDF'] },
  faults: ({ body }) => codeFaults(body?.coupons ?? []),
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: Type.Object({
    added: Type.Integer({ description: 'Codes added to the list.' }),
    duplicates: Type.Integer({ description: 'Codes that the list already had, or that appeared twice.' }),
  }),
  handle({ workspace, path, body, upload }, parts) {
    const target = { workspace, listId: path.coupon_list_id }
    if (!upload) return uploadCoupons(target, codesOfJson(body.coupons), parts)
    return parts.uploadSlots.run(workspace.id, () => uploadCoupons(target, codesOfCsv(upload), parts))
  },
})

function codeFaults(codes: Partially<readonly string[]>): Fault[] {
  const faults: Fault[] = []
  for (const [index, code] of codes.entries()) {
    const problem = code === undefined ? undefined : (couponCodeProblem(code) ?? hiddenProblem(code))
    if (problem === undefined) continue
    faults.push({ field: `coupons[${index}]`, problem })
    if (faults.length >= INVALID_CODES_NAMED_MAX) break
  }
  return faults
}

async function* codesOfJson(coupons: readonly string[]): AsyncGenerator<readonly string[]> {
  yield coupons.map(toCouponCode)
}

async function* codesOfCsv(upload: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  const csv = new CouponCsv()
  for await (const bytes of upload) {
    const codes = csv.push(bytes)
    // After an invalid line, the rest is read only to report further invalid lines.
    if (csv.invalidLines === 0 && codes.length > 0) yield codes
  }
  const last = csv.end()
  if (csv.invalidLines > 0) throw invalidLines(csv)
  if (last.length > 0) yield last
}

function invalidLines({ invalidLines, faults }: CouponCsv): AppError {
  const named = invalidLines > faults.length ? `; details lists the first ${faults.length}` : ''
  const problem = invalidLines === 1 ? '1 line is not a valid code' : `${invalidLines} lines are not valid codes`
  return new AppError('invalid_request', `${problem}${named}. No codes were added.`, faults)
}
