// Preview email template: what a template that need not be stored becomes for a person, with its faults. Changes nothing.
import { Type, type Static } from 'typebox'
import { shownAttributes } from '../../actions/email-protection.ts'
import type { Fault } from '../../core/app-error.ts'
import { EMAIL_CONTENT_LENGTH_MAX } from '../../core/templates/template.ts'
import { userAttributeFaults } from '../../core/users/user-attributes.ts'
import { CUSTOMER_ID } from '../../core/users/user.ts'
import type { Workspace } from '../../core/workspace.ts'
import type { RenderJob } from '../../delivery/content/render-job.ts'
import { DRAFT_FAULTS_MAX } from '../../delivery/content/render-limits.ts'
import { TEST_CODE } from '../../delivery/content/render-preview.ts'
import {
  previewDraft,
  PREVIEW_FAULT_KINDS,
  type DraftPreview,
  type PreviewFault,
} from '../../delivery/preview/preview-draft.ts'
import { findUser } from '../../store/users/users.ts'
import { runOnceApplied } from '../applied-entries.ts'
import { Content, CustomerId, NoFields, Nullable, OneOf, Strict, Text } from '../fields.ts'
import { BODY_BYTES_MAX, defineOperation, type Parts } from '../operation.ts'
import { noSuchUser } from '../users/user-lookup.ts'
import { BasicDetails } from './template-fields.ts'

const COUPON_CODE_LENGTH_MAX = 128

const PreviewBody = Strict({
  basic_details: Strict({
    ...Type.Partial(BasicDetails).properties,
    email_content: Type.Optional(Content(0, EMAIL_CONTENT_LENGTH_MAX, 'The content, as HTML; it may be empty yet.')),
  }),
  customer_id: Type.Optional(CustomerId),
  attributes: Type.Optional(
    Type.Unsafe<Readonly<Record<string, unknown>>>({
      type: 'object',
      description: 'Attributes of a person who need not exist, as in Track User.',
    }),
  ),
  coupon_code: Type.Optional(
    Text(1, COUPON_CODE_LENGTH_MAX, `Printed in place of every coupon. Default: ${TEST_CODE}.`),
  ),
})

const Rendered = (what: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description: `${what} Null if its faults leave nothing.` })
const Place = Type.Unsafe<number | null>({
  type: ['integer', 'null'],
  description: 'From 1; columns count UTF-16 code units. Null if it is not known.',
})

export const previewTemplate = defineOperation({
  name: 'preview_template',
  summary: 'Preview email template',
  description:
    'Returns what a template becomes for a person, without storing it: for `customer_id`, for somebody with these `attributes`, or for ' +
    'somebody without any. A template with faults is answered with 200 too: each text is rendered by itself, and where a value is ' +
    'missing, nothing is printed. `faults` names everything that would hold a message back, with its place in the text that was sent. ' +
    '`campaign.name` is `Preview`; links are not counted and belong to nobody. Attachments are not fetched. ' +
    `The request has at most ${BODY_BYTES_MAX / 1024 ** 2} MiB, the rendered HTML too, and rendering takes at most a second.`,
  group: 'Email templates',
  method: 'POST',
  isReadOnly: true,
  url: '/v1.0/custom-templates/email/preview',
  requires: 'templates.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: NoFields,
  body: PreviewBody,
  example: {
    basic_details: { subject: 'Hi {{ first_name }}', email_content: '<p>Hello {{ first_name }} {{ last_name }}</p>' },
    attributes: { first_name: 'Anna' },
  },
  faults: ({ body }) => [
    ...personFaults(body ?? {}),
    ...(body?.attributes === undefined ? [] : userAttributeFaults(body.attributes)),
  ],
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({
    subject: Rendered('The subject line.'),
    sender_name: Rendered('The name of the sender; empty: the name that the sender has.'),
    html: Rendered('The HTML, with an unsubscribe link if it has none.'),
    text: Rendered('The text part, made from the HTML.'),
    faults: Type.Array(
      Type.Object({
        field: Nullable(
          OneOf(['basic_details.subject', 'basic_details.sender_name', 'basic_details.email_content'] as const),
        ),
        line: Place,
        column: Place,
        kind: OneOf(
          PREVIEW_FAULT_KINDS,
          '`template`: it cannot be rendered for anybody. `coupons`: a coupon list that it names does not exist or is not ' +
            'active. `value`: this person has no value that it prints.',
        ),
        problem: Type.String(),
      }),
      { maxItems: DRAFT_FAULTS_MAX },
    ),
  }),
  outputExample: {
    subject: 'Hi Anna',
    sender_name: '',
    html: '<p>Hello Anna </p>…',
    text: 'Hello Anna …',
    faults: [
      {
        field: 'basic_details.email_content',
        line: 1,
        column: 27,
        kind: 'value',
        problem: 'No value for last_name.',
      },
    ],
  },
  // A preview may hold a megabyte, so each workspace makes one at a time.
  handle: ({ workspace, body, now }, parts) =>
    runOnceApplied(parts, () => {
      const { database, queue, renderer, delivery } = parts
      const work = async () => {
        const { basic_details: details, coupon_code: couponCode = TEST_CODE } = body
        const { email_content: html = '', subject = '', sender_name: senderName = '' } = details
        const person = await findPreviewedPerson(body, workspace, parts)
        const text = { html, subject, senderName }
        const { publicUrl } = delivery
        return toBody(
          await previewDraft(database, renderer, { workspace, text, ...person, couponCode, publicUrl, now }),
        )
      }
      return queue.run(`previews ${workspace.id}`, work, workspace.limits.management_per_minute)
    }),
})

type PreviewBody = Static<typeof PreviewBody>
type Person = Pick<RenderJob, 'customerId' | 'attributes' | 'locale'>

/** The customer id of a person who does not exist. */
const NOBODY = 'preview'

/** Throws AppError `not_found` if there is no such user. */
async function findPreviewedPerson(
  { customer_id: value, attributes = {} }: Pick<PreviewBody, 'customer_id' | 'attributes'>,
  workspace: Workspace,
  { database, emailVault }: Parts,
): Promise<Person> {
  if (value === undefined) return toPerson(NOBODY, attributes)
  const user = await findUser(database, workspace.id, { name: CUSTOMER_ID, value })
  if (!user) throw noSuchUser()
  return toPerson(user.customerId ?? value, shownAttributes(workspace, user, emailVault))
}

function toPerson(customerId: string, attributes: Readonly<Record<string, unknown>>): Person {
  const { locale } = attributes
  return { customerId, attributes, locale: typeof locale === 'string' ? locale : null }
}

function personFaults(body: object): Fault[] {
  if (!Object.hasOwn(body, 'customer_id') || !Object.hasOwn(body, 'attributes')) return []
  return [{ field: 'attributes', problem: 'must not be combined with customer_id' }]
}

function toBody({ senderName, faults, ...texts }: DraftPreview) {
  return { ...texts, sender_name: senderName, faults: faults.map(toFaultBody) }
}

function toFaultBody({ field, ...fault }: PreviewFault) {
  return { field: field === null ? null : `basic_details.${field}`, ...fault }
}
