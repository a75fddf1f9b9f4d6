// Schemas of the fields of email templates, in requests and responses.
import { Type } from 'typebox'
import {
  ATTACHMENT_NAME_LENGTH_MAX,
  ATTACHMENTS_MAX,
  EMAIL_CONTENT_LENGTH_MAX,
  LOCALE_LENGTH_MAX,
  SENDER_NAME_LENGTH_MAX,
  SUBJECT_LENGTH_MAX,
  TEMPLATE_ID_LENGTH_MAX,
  TEMPLATE_NAME_LENGTH_MAX,
  TEMPLATE_TYPES,
  TEMPLATE_USER_LENGTH_MAX,
  TEMPLATE_VERSION_LENGTH_MAX,
  URL_LENGTH_MAX,
  VARIATION_LENGTH_MAX,
} from '../../core/templates/template.ts'
import { Content, OneOf, Strict, Text } from '../fields.ts'

/** The server generates these ids; none is longer. */
const EXTERNAL_ID_LENGTH_MAX = 64

export const ExternalTemplateId = Text(
  1,
  EXTERNAL_ID_LENGTH_MAX,
  'Id of the template, as returned when it was created.',
)
export const UpdatedBy = Text(1, TEMPLATE_USER_LENGTH_MAX, 'The user who creates this version.')

/** `basic_details` with all its members. */
export const BasicDetails = Strict({
  email_content: Content(1, EMAIL_CONTENT_LENGTH_MAX, 'The content, as HTML.'),
  subject: Content(0, SUBJECT_LENGTH_MAX, 'The subject line.'),
  attachments: Type.Array(Strict({ name: Text(1, ATTACHMENT_NAME_LENGTH_MAX), url: Text(1, URL_LENGTH_MAX) }), {
    maxItems: ATTACHMENTS_MAX,
    description: `Up to ${ATTACHMENTS_MAX} files, by URL.`,
  }),
  thumbnail_url: Text(0, URL_LENGTH_MAX, 'URL of a thumbnail of the template.'),
  sender_name: Text(0, SENDER_NAME_LENGTH_MAX, 'Name of the sender.'),
})

/** `meta_info` with all its members. The last three are absent if they were not sent. */
export const MetaInfo = Strict({
  template_id: Text(1, TEMPLATE_ID_LENGTH_MAX, 'Your template id. Unique together with `template_version`.'),
  template_name: Text(1, TEMPLATE_NAME_LENGTH_MAX, 'Name of the template.'),
  template_version: Text(1, TEMPLATE_VERSION_LENGTH_MAX, 'Your version of the template.'),
  created_by: Text(1, TEMPLATE_USER_LENGTH_MAX, 'The user who created the template.'),
  template_type: OneOf(TEMPLATE_TYPES, 'Default: CUSTOM.'),
  group_id: Text(
    1,
    EXTERNAL_ID_LENGTH_MAX,
    "Id of the template's group: the `external_template_id` of its default (parent) template.",
  ),
  locale: Text(1, LOCALE_LENGTH_MAX, 'Locale of the template.'),
  variation: Text(1, VARIATION_LENGTH_MAX, 'Variation of the template.'),
})

/** The response of creating and updating a template. */
export const SavedTemplate = Type.Object({
  external_template_id: Type.String(),
  version: Type.Integer({ description: 'The version that the request created.' }),
})
