// Update User Email Opt-in Preferences: changes what users consented to, and stores a proof of it in the same durable transaction.
import { Type, type Static } from 'typebox'
import { AppError, DETAILS_MAX, NO_WARNINGS, type Fault, type Warning } from '../../core/app-error.ts'
import { changeOptOut, NO_OPT_OUT, refusesAnything } from '../../core/users/address-opt-out.ts'
import { toActorName } from '../../core/accounts/credential.ts'
import { memberPath } from '../../core/field-path.ts'
import {
  changePreference,
  OPT_IN_STATUSES,
  recordPreferenceChange,
  toOptInStatus,
  type PreferenceChange,
  type PreferenceRequest,
} from '../../core/users/preference.ts'
import { addressKey, findOptOuts, lockOptOuts, removeOptOut, saveOptOut } from '../../store/users/address-opt-outs.ts'
import {
  listPreferencesByEmail,
  lockPreferences,
  savePreferences,
  type NamedPreference,
} from '../../store/users/preferences.ts'
import { CUSTOMER_ID } from '../../core/users/user.ts'
import { hasOneWriter, type Database, type Store } from '../../store/store.ts'
import { countUsersWithEmail, findUser } from '../../store/users/users.ts'
import { findCategories } from '../../store/workspaces/workspaces.ts'
import { runOnceApplied } from '../applied-entries.ts'
import { NoFields, Strict, Text } from '../fields.ts'
import { defineOperation, type OperationRequest, type Partially, type Parts } from '../operation.ts'
import {
  eitherRequired,
  emailKeyMeant,
  noSuchEmail,
  requirePreference,
  userIdFaults,
  UserIds,
  usersPerPortion,
} from './preference-users.ts'
import { WarningsOutput, withWarnings } from '../warnings.ts'
import { inDigits } from '../../core/in-digits.ts'

/** The most users of one address: one request changes all of them, and must end. */
export const USERS_PER_EMAIL_MAX = 10_000
const EMAIL_CHANNEL = 'email'
const WORD_LENGTH_MAX = 64
const PATH = 'user_preferences'

const UserPreferences = Strict({
  customer_id: Type.Optional(UserIds.customer_id),
  email_id: Type.Optional(UserIds.email_id),
  categories: Type.Optional(
    Type.Unsafe<Record<string, boolean>>({
      type: 'object',
      additionalProperties: { type: 'boolean' },
      description: 'Category name → whether the user opted in. Categories you do not send stay unchanged.',
    }),
  ),
  tracking: Type.Optional(
    Type.Boolean({ description: 'Whether opens and clicks in emails may be tracked. May be sent alone.' }),
  ),
  opt_in_status: Type.Optional(Text(1, WORD_LENGTH_MAX, `One of ${OPT_IN_STATUSES.join(', ')}, in any case.`)),
  channel: Type.Optional(Text(1, WORD_LENGTH_MAX, 'The channel. Only `email`, the default, is supported.')),
})
type UserPreferences = Static<typeof UserPreferences>

export const updatePreferences = defineOperation({
  name: 'update_preferences',
  summary: 'Update User Email Opt-in Preferences',
  description:
    "Sets a user's email opt-in status and per-category preferences. The change is visible at once. Send `customer_id` " +
    'or `email_id`, and `opt_in_status`, `categories` or `tracking`. With `email_id`, every user with that address is updated, ' +
    'unless the workspace tokenizes emails: then only `customer_id` counts. Categories must be configured in ' +
    `the workspace. An address with more than ${inDigits(USERS_PER_EMAIL_MAX)} users is rejected with 409. An address ` +
    'with many users may be updated in portions: if the request fails, some may stay updated, and you can retry it. If a ' +
    'request sends `categories` and leaves at least one false and none true, the status becomes `OPTED_OUT` regardless ' +
    'of `opt_in_status`. An address that is opted out by `email_id` stays opted out for users who get it later. With `tracking: ' +
    'false`, Tidings puts no picture into the emails of the user and leaves their links as they are. Every change is stored as a proof of consent.',
  group: 'Preferences',
  method: 'PUT',
  url: '/v1.0/opt-in-management/user-preferences',
  requires: 'users.write',
  takesAppKey: true,
  limits: ['update_preferences_per_minute', 'update_preferences_per_day'],
  path: NoFields,
  query: NoFields,
  body: Strict({ user_preferences: UserPreferences }),
  example: {
    user_preferences: {
      customer_id: 'customer-1',
      categories: { Newsletter: true, Offers: false },
      opt_in_status: 'OPTED_IN',
      channel: 'email',
    },
  },
  faults({ workspace, body }) {
    const sent = body?.user_preferences
    if (!sent) return []
    return [
      ...userIdFaults(sent, PATH, workspace),
      ...wordFaults(sent),
      ...categoryFaults(sent.categories ?? {}, new Set(workspace.categories)),
    ]
  },
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: Type.Object({ message: Type.String(), warnings: WarningsOutput }),
  async handle(request, parts) {
    await runOnceApplied(parts, () => update(request, parts))
    const warnings = await ignoredIdWarnings(request, parts)
    const message = 'The request was processed successfully.'
    return { message, ...withWarnings(parts, 'update_preferences', warnings) }
  },
})

async function update(request: Request, parts: Parts): Promise<void> {
  const sent = request.body.user_preferences
  const { workspace } = request
  const emailKey = emailKeyMeant(sent, { workspace, emailVault: parts.emailVault })
  if (emailKey === undefined) {
    await parts.database.write(async (store) => {
      await lockPreferences(store, [workspace.id])
      await change(store, [await requirePreference(store, workspace, sent)], request)
    })
  } else {
    await changeEverybody(parts, emailKey, request)
  }
}

/** Warns of an id that was sent beside the one that counts, and that does not lead to the same users ("Both ids"). */
async function ignoredIdWarnings({ workspace, body }: Request, parts: Parts): Promise<readonly Warning[]> {
  const sent = body.user_preferences
  const { customer_id: customerId, email_id: email } = sent
  if (customerId === undefined || email === undefined) return NO_WARNINGS
  const emailKey = emailKeyMeant(sent, { workspace, emailVault: parts.emailVault })
  if (emailKey === undefined) {
    const problem = 'is ignored, because this workspace stores no email addresses'
    return [{ kind: 'ignored_field', field: `${PATH}.email_id`, problem }]
  }
  const named = await findUser(parts.database, workspace.id, { name: CUSTOMER_ID, value: customerId })
  if (named?.emailKey === emailKey) return NO_WARNINGS
  const whose = named ? 'a user without this email_id' : 'no user'
  const problem = `is ignored, because email_id decides: it names ${whose}, and only users with the email_id were changed`
  return [{ kind: 'ignored_field', field: `${PATH}.customer_id`, problem }]
}

type Request = OperationRequest<object, object, { readonly user_preferences: UserPreferences }>

/**
 * Changes every user with an address, in one transaction. If the store allows one writer at a time and there is more than one
 * portion, each portion is a transaction, so that other writers get their turn.
 */
async function changeEverybody(
  { database, queue }: Pick<Parts, 'database' | 'queue'>,
  emailKey: string,
  request: Request,
): Promise<void> {
  const { id } = request.workspace
  const users = await countUsersWithEmail(database, id, emailKey, USERS_PER_EMAIL_MAX + 1)
  if (users === 0) throw noSuchEmail()
  if (users > USERS_PER_EMAIL_MAX) throw tooManyUsers()
  if (!hasOneWriter(database) || users <= usersPerPortion(request.workspace)) {
    await changeAtOnce(database, emailKey, request)
    return
  }
  // Portions of two requests must not interleave: the same request must come last for every user.
  await queue.run(`preferences ${id} ${emailKey}`, () => changeInPortions(database, emailKey, request))
}

function changeAtOnce(database: Database, emailKey: string, request: Request): Promise<void> {
  return database.write(async (store) => {
    let before: number | undefined
    do before = await changePortion(store, emailKey, before, request)
    while (before !== undefined)
  })
}

async function changeInPortions(database: Database, emailKey: string, request: Request): Promise<void> {
  let before: number | undefined
  do {
    await database.yieldToWriters()
    const from = before
    before = await database.write((store) => changePortion(store, emailKey, from, request))
  } while (before !== undefined)
}

/**
 * Changes the users older than the user `before`, newest first. Returns the `before` of the next portion; undefined after the last.
 */
async function changePortion(
  store: Store,
  emailKey: string,
  before: number | undefined,
  request: Request,
): Promise<number | undefined> {
  const { workspace } = request
  await lockOptOuts(store, workspace.id)
  await lockPreferences(store, [workspace.id])
  const max = usersPerPortion(workspace)
  const users = await listPreferencesByEmail(store, workspace.id, emailKey, { before, max })
  // The users may have changed their address since they were counted. Success would then report a change that was not made.
  if (users.length === 0 && before === undefined) throw noSuchEmail()
  // In the first transaction, so that users who get the address after it inherit the change.
  if (before === undefined) await changeAddress(store, emailKey, request)
  await change(store, users, request)
  return users.length === max ? users.at(-1)?.userId : undefined
}

/** Changes the opt-out of an address, for users who get it later. */
async function changeAddress(store: Store, emailKey: string, { workspace, body, now }: Request): Promise<void> {
  const address = { workspaceId: workspace.id, emailKey }
  const before = (await findOptOuts(store, [address])).get(addressKey(address)) ?? NO_OPT_OUT
  const after = changeOptOut(before, toPreferenceRequest(body.user_preferences), now)
  if (refusesAnything(after)) await saveOptOut(store, address, after)
  else await removeOptOut(store, address)
}

async function change(store: Store, users: readonly NamedPreference[], request: Request): Promise<void> {
  const { workspace, now, credential, callerAddress } = request
  const wanted = toPreferenceRequest(request.body.user_preferences)
  // Read from the store, because the cached settings may lack a new category that the user has just accepted.
  const activeCategories = await findCategories(store, workspace.id)
  const origin: Pick<PreferenceChange, 'by' | 'ip'> = { by: toActorName(credential), ip: callerAddress }
  const recorded = users.map((before) => {
    return recordPreferenceChange(
      before,
      changePreference(before.preference, wanted, { activeCategories, now }),
      origin,
    )
  })
  const preferences = recorded.map(({ current }) => current)
  const changes = recorded.map(({ change }) => change)
  await savePreferences(store, preferences, changes)
}

function toPreferenceRequest(sent: UserPreferences): PreferenceRequest {
  const status = sent.opt_in_status === undefined ? undefined : toOptInStatus(sent.opt_in_status)
  return { status, categories: sent.categories, tracking: sent.tracking }
}

/** Members that the schema refused are present but undefined, and already have a fault. */
function wordFaults(sent: Partially<UserPreferences>): Fault[] {
  const faults: Fault[] = []
  const { opt_in_status: status, channel } = sent
  if (!['opt_in_status', 'categories', 'tracking'].some((member) => Object.hasOwn(sent, member))) {
    faults.push(...eitherRequired(PATH, 'opt_in_status', 'categories'))
  }
  if (status !== undefined && !toOptInStatus(status)) {
    faults.push({ field: `${PATH}.opt_in_status`, problem: `must be one of ${OPT_IN_STATUSES.join(', ')}` })
  }
  if (channel !== undefined && channel.toLowerCase() !== EMAIL_CHANNEL) {
    faults.push({ field: `${PATH}.channel`, problem: `must be ${EMAIL_CHANNEL}` })
  }
  return faults
}

/** At most as many faults as a response names. */
function categoryFaults(sent: object, active: ReadonlySet<string>): Fault[] {
  const unknown = Object.keys(sent).filter((name) => !active.has(name))
  const problem = 'is not an active category of this workspace'
  return unknown.slice(0, DETAILS_MAX).map((name) => ({ field: memberPath(`${PATH}.categories`, name), problem }))
}

function tooManyUsers(): AppError {
  const message = `More than ${USERS_PER_EMAIL_MAX} users have this email_id. Update each user by customer_id.`
  return new AppError('conflict', message)
}
