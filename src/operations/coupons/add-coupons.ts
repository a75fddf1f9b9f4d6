// Add coupons: adds codes to a list, from a stream of CSV or from JSON. Adds all of them or none.
import type { Hash } from 'node:crypto'
import { Type } from 'typebox'
import { toActorName } from '../../core/accounts/credential.ts'
import { AppError, invalidRequest, type Fault } from '../../core/app-error.ts'
import { CouponCsv, INVALID_CODES_NAMED_MAX } from '../../core/coupons/coupon-csv.ts'
import { couponCodeProblem, toCouponCode } from '../../core/coupons/coupon-list.ts'
import { CouponListPath } from './coupon-list-body.ts'
import { uploadCoupons, type CouponSource } from '../../actions/coupon-upload.ts'
import { SIMILAR_CODES_NAMED_MAX } from '../../actions/written-codes.ts'
import { answerAsFirst, startRequestHash, toRepeatable } from '../create-once.ts'
import { NoFields, Nullable, Strict } from '../fields.ts'
import { defineOperation, type Partially } from '../operation.ts'

const UPLOAD_BYTES_MAX = 64 * 1024 * 1024

export const addCoupons = defineOperation({
  name: 'add_coupons',
  summary: 'Add coupons',
  description:
    'Adds codes to an ACTIVE list, all of them or none. An invalid line (400, listing the first hundred) or a broken ' +
    'connection leaves the list unchanged. Send `text/csv` with one code per line, up to 64 MiB, or JSON up to 1 MiB. ' +
    'Empty lines are skipped. A first line such as `Coupon Code`, `code`, `voucher_codes` or `PROMO-CODE` is taken as ' +
    'the header, and the answer names it. Any other first line is a code. A code may be quoted as in RFC 4180. A code ' +
    'with `,`, `;` or `|` must be: otherwise the line has several columns and is invalid, and so is a line with a tab. ' +
    'A code has 1 to 128 characters after trimming outer spaces, and no control or invisible characters. Codes that ' +
    'the list already has, or that appear twice, are counted as `duplicates`. Upper and lower case differ: codes that ' +
    'differ only in case are added, and reported as `similar`. While an upload to the list is in progress, another one ' +
    'is rejected with 409. An upload that stalls for a minute may be abandoned. To undo an upload, send its id to ' +
    '"Delete coupons".',
  group: 'Coupon lists',
  method: 'POST',
  url: '/v1/coupon-list/:coupon_list_id/coupons',
  requires: 'coupons.write',
  takesAppKey: true,
  takesIdempotencyKey: true,
  limits: ['management_per_minute'],
  path: CouponListPath,
  query: NoFields,
  body: Strict({
    // `fromJson` checks the codes: an upload of invalid ones has failed, and alerts of that.
    coupons: Type.Array(Type.String(), { minItems: 1, description: 'Codes of 1 to 128 characters.' }),
  }),
  upload: { bytesMax: UPLOAD_BYTES_MAX, examples: { 'text/csv': 'Coupon Code\nSUMMER-7Q2X\nSUMMER-9KDF\n' } },
  example: { coupons: ['SUMMER-7Q2X', 'SUMMER-9KDF'] },
  storedFaults: async ({ body }) => codeFaults(body?.coupons ?? []),
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: Type.Object({
    upload: Nullable(Type.String({ description: 'Id of the upload. Null if it added no code.' })),
    added: Type.Integer({ description: 'Codes added to the list.' }),
    duplicates: Type.Integer({ description: 'Codes that the list already had, or that appeared twice.' }),
    similar: Type.Object(
      {
        count: Type.Integer(),
        pairs: Type.Array(Type.Array(Type.String(), { minItems: 2, maxItems: 2 }), {
          maxItems: SIMILAR_CODES_NAMED_MAX,
          description: 'An added code, and the other one. Only the first few.',
        }),
      },
      { description: 'Added codes that differ from another code of the list only in the case of the letters A to Z.' },
    ),
    header: Nullable(Type.String({ description: 'The header of the file, which was not added.' })),
  }),
  async handle(request, parts) {
    const { workspace, credential, path, body, upload, bodyBytes } = request
    const by = toActorName(credential)
    const target = { workspace, listId: path.coupon_list_id, by: request }
    if (!upload) {
      const hash = startRequestHash('add_coupons', [path, 'json']).update(bodyBytes)
      const source = { ...fromJson(body.coupons), request: toRepeatable(request, hash), by }
      return answerAsFirst(request, await uploadCoupons(target, source, parts))
    }
    const hash = startRequestHash('add_coupons', [path, 'csv'])
    const source = { ...fromCsv(hashed(upload, hash)), request: toRepeatable(request, hash), by }
    const work = () => uploadCoupons(target, source, parts)
    return answerAsFirst(request, await parts.uploadSlots.run(workspace.id, work))
  },
})

/** Stops after a hundred invalid codes. */
function codeFaults(codes: Partially<readonly string[]>): Fault[] {
  const faults: Fault[] = []
  for (const [index, code] of codes.entries()) {
    const problem = code === undefined ? undefined : couponCodeProblem(code)
    if (problem === undefined) continue
    faults.push({ field: `coupons[${index}]`, problem })
    if (faults.length >= INVALID_CODES_NAMED_MAX) break
  }
  return faults
}

type Codes = Pick<CouponSource, 'codes' | 'header'>

function fromJson(coupons: readonly string[]): Codes {
  async function* read() {
    const faults = codeFaults(coupons)
    if (faults.length > 0) throw invalidRequest(faults)
    yield coupons.map(toCouponCode)
  }
  return { codes: read(), header: () => null }
}

function fromCsv(upload: AsyncIterable<Uint8Array>): Codes {
  const csv = new CouponCsv()
  return { codes: codesOf(csv, upload), header: () => csv.header }
}

async function* codesOf(csv: CouponCsv, upload: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  let hasCodes = false
  for await (const bytes of upload) {
    const codes = csv.push(bytes)
    // After an invalid line, the rest is read only to report further invalid lines.
    if (csv.invalidLines > 0 || codes.length === 0) continue
    hasCodes = true
    yield codes
  }
  const last = csv.end()
  if (csv.invalidLines > 0) throw invalidLines(csv)
  if (!hasCodes && last.length === 0) throw noCodes(csv)
  yield last
}

async function* hashed(upload: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const bytes of upload) {
    hash.update(bytes)
    yield bytes
  }
}

function noCodes({ header }: CouponCsv): AppError {
  const advice = header === null ? '' : `; its only line ${header} is a header. If it is a code, send it as JSON`
  return invalidRequest([{ field: 'body', problem: `must contain at least one code${advice}` }])
}

function invalidLines({ invalidLines, faults }: CouponCsv): AppError {
  const named = invalidLines > faults.length ? `; details lists the first ${faults.length}` : ''
  const problem = invalidLines === 1 ? '1 line is not a valid code' : `${invalidLines} lines are not valid codes`
  return new AppError('invalid_request', `${problem}${named}. No codes were added.`, faults)
}
