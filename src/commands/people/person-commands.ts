// `person invite|list|remove|reset-password`: the people who sign in at the dashboard.
import { AppError, type Fault } from '../../core/app-error.ts'
import { EVERY_WORKSPACE, personEmailProblem, roleIn, type RoleGrant } from '../../core/accounts/person.ts'
import { ROLES, toRole } from '../../core/accounts/role.ts'
import { counted } from '../../core/phrases/counted.ts'
import { toIso } from '../../core/time-value.ts'
import { makeAccessLink, type MadeLink } from '../../actions/accounts/access-links.ts'
import { giveRole, takeAllRoles, takeRole } from '../../actions/accounts/change-roles.ts'
import { recordChange, type RecordedChange } from '../../actions/audit/record-change.ts'
import type { Config } from '../../app/config.ts'
import { findPersonByEmail, listEverybody, lockPeople, type StoredPerson } from '../../store/accounts/people.ts'
import { listGrants } from '../../store/accounts/person-roles.ts'
import type { Store } from '../../store/store.ts'
import { changedByCommand } from '../audit/changed-by-command.ts'
import type { Command } from '../command.ts'
import { confirm, YES } from '../confirm.ts'
import { requireWorkspace } from '../../actions/workspaces/require-workspace.ts'
import { SERVER_URL_FAULT, toServerUrl } from '../servers/server-url.ts'
import { withStore } from '../with-store.ts'

const WORKSPACE = { value: 'ID', summary: 'Only in this workspace. Default: in every one.' }

const URL_OPTION = {
  value: 'URL',
  summary: 'The address of the server in the link. Default: PUBLIC_URL, or HOST and PORT of the environment.',
}

const invite: Command = {
  name: 'person invite',
  operands: ['EMAIL'],
  options: {
    role: { value: ROLES.join('|'), isRequired: true, summary: 'What the person may do.' },
    workspace: WORKSPACE,
    url: URL_OPTION,
  },
  summary: 'Prints a link with which somebody gets a role in the dashboard.',
  details: [
    'The link works once, for seven days. With it, the person creates an account, or signs in to the one they have.',
    'Somebody who has a role there already gets this one at once, in its place.',
    'owner: everything. developer: keys, settings, events, parked entries, users. marketer: templates, coupons,',
    'segments, campaigns, users. analyst: reads templates, coupons, campaigns and reports, no personal data.',
  ].join('\n'),
  async run({ config, operands: [email = ''], option, print }) {
    const role = toRole(option('role') ?? '')
    const workspaceId = option('workspace') ?? EVERY_WORKSPACE
    const faults: Fault[] = []
    if (!role) faults.push({ field: '--role', problem: `must be one of ${ROLES.join(', ')}` })
    const problem = personEmailProblem(email)
    if (problem !== undefined) faults.push({ field: 'EMAIL', problem })
    const origin = toOrigin(config, option('url'))
    if (!origin) faults.push(SERVER_URL_FAULT)
    if (!role || !origin || faults.length > 0) throw new AppError('invalid_request', 'Nobody was invited.', faults)
    const now = Date.now()
    const link = await withStore(config, (database) =>
      database.write(async (store) => {
        await lockPeople(store)
        if (workspaceId !== EVERY_WORKSPACE) await requireWorkspace(store, workspaceId)
        const person = await findPersonByEmail(store, email)
        const before = person && roleIn(await listGrants(store, person.number), workspaceId)
        // Nobody joins where they have a role already, perhaps that for every workspace.
        if (!person || !before) {
          const made = await makeAccessLink(store, { kind: 'invitation', email, role, workspaceId, now })
          const after = { invited_as: role }
          await recordIn(store, workspaceId, { id: email, name: email, action: 'invite_person', after })
          return made
        }
        await giveRole(store, person, { workspaceId, role })
        const change = { action: 'change_role', before: { role: before }, after: { role } }
        await recordIn(store, workspaceId, { id: person.id, name: person.email, ...change })
        return undefined
      }),
    )
    const given = { email, role, workspace_id: workspaceId }
    if (link) print(linkOutput(origin, link, given))
    else print({ json: given, text: `${email} has the role ${role} from now on.\n` })
  },
}

const list: Command = {
  name: 'person list',
  operands: [],
  options: {},
  summary: 'Lists the people who can sign in, with their roles.',
  async run({ config, print }) {
    const people = await withStore(config, async (database) => {
      const everybody = await listEverybody(database)
      return Promise.all(
        everybody.map(async (person) => ({ person, grants: await listGrants(database, person.number) })),
      )
    })
    const json = {
      people: people.map(({ person, grants }) => ({
        person_id: person.id,
        email: person.email,
        name: person.name,
        has_totp: person.hasTotp,
        created_at: toIso(person.createdAt),
        roles: grants.map(({ workspaceId, role }) => ({ workspace_id: workspaceId, role })),
      })),
    }
    const lines = people.map(({ person, grants }) => `${person.email}  ${person.name}  ${describeGrants(grants)}\n`)
    print({ json, text: lines.join('') })
  },
}

const remove: Command = {
  name: 'person remove',
  operands: ['EMAIL'],
  options: { workspace: { ...WORKSPACE, summary: 'Only from this workspace. Default: from every one.' }, ...YES },
  summary: 'Takes the role of a person away, and the account of somebody who has no other role.',
  details: 'Asks before it does so.',
  async run(call) {
    const {
      config,
      operands: [email = ''],
      option,
      print,
    } = call
    const workspaceId = option('workspace')
    const where = workspaceId === undefined ? 'anywhere' : `in the workspace ${workspaceId}`
    await confirm(call, `${email} can do nothing ${where} any more.`)
    await withStore(config, (database) =>
      database.write(async (store) => {
        await lockPeople(store)
        const person = await requireAccount(store, email)
        const grants = await listGrants(store, person.number)
        if (workspaceId === undefined) {
          await takeAllRoles(store, person)
          return recordRemovals(store, person, grants)
        }
        const own = grants.find((grant) => grant.workspaceId === workspaceId)
        if (!own) throw new AppError('not_found', `${email} has no role of its own in the workspace ${workspaceId}.`)
        await takeRole(store, person, workspaceId)
        await recordRemovals(store, person, [own])
      }),
    )
    print({ json: { email, workspace_id: workspaceId ?? null }, text: `${email} was removed.\n` })
  },
}

const resetPassword: Command = {
  name: 'person reset-password',
  operands: ['EMAIL'],
  options: { url: URL_OPTION },
  summary: 'Prints a link with which a person chooses a new password.',
  details: 'The link works once, for 30 minutes. The old password works until then.',
  async run({ config, operands: [email = ''], option, print }) {
    const origin = toOrigin(config, option('url'))
    if (!origin) throw new AppError('invalid_request', 'No link was made.', [SERVER_URL_FAULT])
    const now = Date.now()
    const link = await withStore(config, (database) =>
      database.write(async (store) => {
        const person = await requireAccount(store, email)
        return makeAccessLink(store, { kind: 'reset', email: person.email, role: null, workspaceId: null, now })
      }),
    )
    print(linkOutput(origin, link, { email }))
  },
}

export const personCommands: readonly Command[] = [invite, list, remove, resetPassword]

type RecordedPerson = Omit<RecordedChange, 'kind'>

/** What holds in every workspace stands in the trail of none. */
async function recordIn(store: Store, workspaceId: string, change: RecordedPerson): Promise<void> {
  if (workspaceId === EVERY_WORKSPACE) return
  await recordChange(store, changedByCommand(workspaceId), { kind: 'person', ...change })
}

async function recordRemovals(
  store: Store,
  { id, email: name }: StoredPerson,
  grants: readonly RoleGrant[],
): Promise<void> {
  for (const { workspaceId, role } of grants) {
    await recordIn(store, workspaceId, { id, name, action: 'remove_person', before: { role } })
  }
}

/** Throws AppError `not_found`. */
async function requireAccount(store: Store, email: string): Promise<StoredPerson> {
  const person = await findPersonByEmail(store, email)
  if (person) return person
  throw new AppError('not_found', `Nobody has an account with the address ${email}.`)
}

function linkOutput(origin: LinkOrigin, { path, expiresAt }: MadeLink, about: object) {
  const url = `${origin.url}${path}`
  const note = origin.isGuess
    ? 'Its address comes from HOST and PORT here. --url or PUBLIC_URL names another one.\n'
    : ''
  return {
    json: { ...about, url, expires_at: toIso(expiresAt) },
    text: `${url}\nIt works once, until ${toIso(expiresAt)}.\n${note}`,
  }
}

interface LinkOrigin {
  readonly url: string
  /** Whether nobody has said where browsers reach the server. */
  readonly isGuess: boolean
}

/** Where a browser reaches the dashboard, as far as the option and the settings tell; undefined if the option is no URL. */
function toOrigin(config: Config, given: string | undefined): LinkOrigin | undefined {
  const known = given ?? config.delivery.publicUrl
  const url = toServerUrl(config, known)
  return url && { url: url.origin, isGuess: known === undefined }
}

function describeGrants(grants: readonly RoleGrant[]): string {
  if (grants.length === 0) return counted(0, 'role')
  return grants
    .map(({ workspaceId, role }) => `${role} ${workspaceId === EVERY_WORKSPACE ? 'everywhere' : `in ${workspaceId}`}`)
    .join(', ')
}
