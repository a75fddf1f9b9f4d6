// Add coupons: codes for a list, as a stream of CSV or as JSON, all of them or none.
import { Type } from 'typebox'
import { AppError, type Fault } from '../../core/app-error.ts'
import { unstorableProblem } from '../../core/bounded-text.ts'
import { CouponCsv, INVALID_CODES_NAMED_MAX } from '../../core/coupons/coupon-csv.ts'
import { couponCodeProblem, toCouponCode } from '../../core/coupons/coupon-list.ts'
import { CouponListPath } from './coupon-list-body.ts'
import { uploadCoupons } from './coupon-upload.ts'
import { NoFields, Strict } from '../fields.ts'
import { defineOperation, type Partially } from '../operation.ts'

const UPLOAD_BYTES_MAX = 64 * 1024 * 1024

export const addCoupons = defineOperation({
  name: 'add_coupons',
  summary: 'Add coupons',
  description:
    'Adds codes to an ACTIVE list, all of them or none: after an invalid line (400, with the first hundred of them) or a ' +
    'broken connection the list is as it was. Send `text/csv` with one code a line, up to 64 MiB, or JSON up to 1 MiB. ' +
    'A header line `Coupon Code` and empty lines are skipped; quotation marks around a code are as in RFC 4180, and a code ' +
    'with a comma needs them. A code has 1 to 128 characters once outer spaces are cut, and no control characters. Codes ' +
    'that the list has already, or that come twice, are counted as `duplicates`. While an upload to the list runs, ' +
    'another one is refused with 409. An upload that stands still for a minute may be given up.',
  group: 'Coupon lists',
  method: 'POST',
  url: '/v1/coupon-list/:coupon_list_id/coupons',
  tile: 'reports',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CouponListPath,
  query: NoFields,
  body: Strict({
    // Their content is checked code by code, and not past a hundred invalid ones.
    coupons: Type.Array(Type.String(), { minItems: 1, description: 'Codes of 1 to 128 characters.' }),
  }),
  upload: { mediaType: 'text/csv', bytesMax: UPLOAD_BYTES_MAX, example: 'Coupon Code\nSUMMER-7Q2X\nSUMMER-9KDF\n' },
  example: { coupons: ['SUMMER-7Q2X', 'SUMMER-9KDF'] },
  faults: ({ body }) => codeFaults(body?.coupons ?? []),
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: Type.Object({
    added: Type.Integer({ description: 'Codes that are new in the list.' }),
    duplicates: Type.Integer({ description: 'Codes that the list had already, or that came twice.' }),
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
    const problem = code === undefined ? undefined : (couponCodeProblem(code) ?? unstorableProblem(code))
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
    // After an invalid line the rest is read only to tell what else is wrong.
    if (csv.invalidLines === 0 && codes.length > 0) yield codes
  }
  const last = csv.end()
  if (csv.invalidLines > 0) throw invalidLines(csv)
  if (last.length > 0) yield last
}

function invalidLines({ invalidLines, faults }: CouponCsv): AppError {
  const named = invalidLines > faults.length ? `; the first ${faults.length} are named` : ''
  const what = invalidLines === 1 ? '1 line does not hold a code' : `${invalidLines} lines do not hold a code each`
  return new AppError('invalid_request', `${what}${named}. Nothing was added.`, faults)
}
